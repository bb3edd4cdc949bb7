from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from hybridal.acquisition import Candidates, Selection, names_for
from hybridal.acquisition.random import Random
from hybridal.core.rounds import LabelChanges, Round
from hybridal.errors import UserError
from hybridal.learners.estimator import EstimatorLearner
from hybridal.schedules.constant import Constant
from hybridal.signals import SIGNALS, ModelView, Signal, Snapshot
from hybridal.signals.loss import Loss
from hybridal.updates import UPDATES, Update

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.where(X[:, 0] > 0, "up", "down")
NETWORK = sorted({*SIGNALS.names()} - {"accuracy", "f1", "loss"})
COMPARING = ("badge", "cal", "coreset", "typiclust")


def learner_of(estimator: Any, schedule: str = "retrain", X: Any = X, validation: int = 40, **options: Any) -> Any:
    return EstimatorLearner(
        estimator, X, X[:validation], [*Y[:validation]], ["down", "up"], schedule=schedule, **options
    )


@pytest.mark.parametrize(("schedule", "signal"), [("auto", "agreement"), *((f"hybrid:{s}", s) for s in NETWORK)])
def test_network_signals_are_refused(schedule: str, signal: str) -> None:
    message = f"The signal '{signal}' looks into a network, which an estimator is not; use accuracy, f1 or loss"
    with pytest.raises(UserError, match=message):
        learner_of(GaussianNB(), schedule)


def test_validation_signals_without_validation_rows_are_refused() -> None:
    with pytest.raises(UserError, match="The signal 'accuracy' looks at validation rows, and there are none"):
        learner_of(GaussianNB(), "hybrid:accuracy", validation=0)


def test_updates_that_mix_weights_are_refused() -> None:
    with pytest.raises(UserError, match="anchor mixes the weights of a network"):
        learner_of(GaussianNB(), "anchor:0.5")


class BrokenAcquisition(Random):
    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:
        raise ZeroDivisionError


class BrokenSignal(Loss):
    def snapshot(self, view: ModelView) -> Snapshot:
        raise ZeroDivisionError


class Watching(Constant):
    @property
    def watches(self) -> tuple[Signal, ...]:
        return (BrokenSignal(),)


class BrokenSchedule(Constant):
    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
        raise ZeroDivisionError


@pytest.mark.parametrize("kind", ["acquisition", "signal", "schedule"])
def test_a_component_that_raises_is_named(kind: str) -> None:
    broken: dict[str, dict[str, Any]] = {
        "acquisition": {"acquisition": BrokenAcquisition()},
        "signal": {"schedule": Watching(UPDATES.make("retrain"))},
        "schedule": {"schedule": BrokenSchedule(UPDATES.make("retrain"))},
    }
    with pytest.raises(UserError, match=rf"The {kind} .* failed: ZeroDivisionError"):
        learner_of(GaussianNB(), **broken[kind])


def test_missing_estimator_methods_are_named() -> None:
    with pytest.raises(UserError, match=r"LogisticRegression has no partial_fit, .*; use the schedule retrain"):
        learner_of(LogisticRegression(), "hybrid:accuracy")
    with pytest.raises(UserError, match="SGDClassifier has no predict_proba as it is set up"):
        learner_of(SGDClassifier(loss="hinge"))


def test_a_seed_that_is_not_a_whole_number() -> None:
    with pytest.raises(UserError, match=r"^`seed` must be a whole number, not 1\.5; give one, such as 42\.$"):
        learner_of(GaussianNB(), seed=1.5)


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        ([str(row).encode() for row in range(40)], r"ids: number 0 is b'0'; decode bytes to text\."),
        ([float("inf"), *range(39)], "ids: number 0 is inf, not a finite number"),
        (40, "ids must be a list, a column or a one-dimensional array, not 40"),
    ],
)
def test_ids_that_cannot_be_are_refused(ids: Any, told: str) -> None:
    with pytest.raises(UserError, match=told):
        learner_of(GaussianNB(), ids=ids)


@pytest.mark.parametrize(("keyword", "meant"), [("aquisition", "acquisition"), ("bach", "batch")])
def test_a_misspelt_keyword_gets_a_suggestion(keyword: str, meant: str) -> None:
    with pytest.raises(UserError, match=rf"^`{keyword}` is neither an argument of Estim.* did you mean '{meant}'\?$"):
        EstimatorLearner(GaussianNB(), X, X, Y, ["down", "up"], "retrain", **{keyword: 3})  # type: ignore[arg-type]


def test_dropout_acquisition_is_refused() -> None:
    with pytest.raises(UserError, match=r"This acquisition samples by dropout, .*; use entropy or margin"):
        learner_of(GaussianNB(), acquisition="bald:3")


@pytest.mark.parametrize("acquisition", sorted({*names_for(multi_label=False)} - {"bald"}))
@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, csr_array])
def test_every_other_acquisition_chooses(acquisition: str, kind: Any) -> None:
    learner = learner_of(SGDClassifier(loss="log_loss"), X=kind(X), acquisition=acquisition)
    batch = learner.query(20)
    learner.teach(batch, Y[batch.ids])
    assert len(learner.query(5)) == 5


@pytest.mark.parametrize("acquisition", COMPARING)
@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (np.array(["soup", "team"] * 20), "could not convert string to float"),
        (np.where(X < -2.3, np.nan, X), "some values are missing or infinite"),
        (csr_array(np.where(X < -2.3, np.inf, X)), "some values are missing or infinite"),
    ],
)
def test_acquisitions_that_compare_rows_need_numbers(acquisition: str, rows: Any, why: str) -> None:
    with pytest.raises(UserError, match=f"X cannot be compared row by row.*{why}.* use entropy"):
        learner_of(GaussianNB(), X=rows, acquisition=acquisition)


def test_first_rows_that_are_spread_out_need_numbers() -> None:
    texts = np.array(["soup and salt", "team and coach"] * 20)
    bag = make_pipeline(CountVectorizer(), LogisticRegression())
    learner = learner_of(bag, X=texts)  # the estimator alone takes texts
    batch = learner.query(20)
    assert learner.teach(batch, Y[batch.ids]).labels == 20
    with pytest.raises(UserError, match="X cannot be compared row by row"):
        learner_of(bag, X=texts, initial_draw="spread").query(5)


@pytest.mark.parametrize(
    ("estimator", "weights", "told"),
    [
        (KNeighborsClassifier(), [1.0] * 40, "KNeighborsClassifier.fit takes no sample_weight; leave it out"),
        (GaussianNB(), [1.0] * 39, r"sample_weight has the shape \(39,\) for the 40 rows of X"),
        (GaussianNB(), [-1.0] + [1.0] * 39, "a weight is negative, missing or infinite"),
        (GaussianNB(), ["a"] * 40, "sample_weight: could not convert"),
    ],
)
def test_unusable_sample_weights_are_refused(estimator: Any, weights: Any, told: str) -> None:
    with pytest.raises(UserError, match=told):
        learner_of(estimator, sample_weight=weights)
