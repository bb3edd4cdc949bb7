from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_matrix, csr_array
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import MultinomialNB

from hybridal.acquisition.entropy import entropies
from hybridal.errors import UserError
from hybridal.learners.estimator import EstimatorLearner
from hybridal.tasks import Task
from hybridal.testing.small import toy_task
from hybridal.updates.finetune import FineTune

TASK: Task = toy_task(train=90, validation=30, classes=3)
WORDS = CountVectorizer().fit([*TASK.train.texts])
X: Any = WORDS.transform(TASK.train.texts)
X_VALIDATION: Any = WORDS.transform(TASK.validation.texts)
Y_VALIDATION = [TASK.classes[label] for label in TASK.validation.labels]


def bayes() -> Any:
    return MultinomialNB()


def sgd() -> Any:
    return SGDClassifier(loss="log_loss", random_state=3)


def learner_of(estimator: Any, schedule: str = "fixed:3", **options: Any) -> EstimatorLearner:
    given = {"classes": TASK.classes, "ids": TASK.train.ids, "batch": 9, "candidates": None, **options}
    return EstimatorLearner(estimator, X, X_VALIDATION, Y_VALIDATION, schedule=schedule, **given)


def labels_of(ids: Sequence[str]) -> Any:
    known = TASK.answers(ids)
    return np.array([TASK.class_index(known[id]) for id in ids])


def rows_of(ids: Sequence[str]) -> Any:
    return np.array([TASK.train.ids.index(id) for id in ids])


def first_ids(label: int, n: int) -> list[str]:
    return [TASK.train.ids[row] for row in np.flatnonzero(TASK.train.labels == label)[:n]]


@pytest.mark.parametrize("make", [bayes, sgd])
def test_each_update_is_what_scikit_learn_would_do(make: Any) -> None:
    """R is `fit` of all labels so far, F `partial_fit` of all of them to the last estimator."""
    assert X.format == "csr"  # sparse
    learner = learner_of(make(), "fixed:3")
    direct = make()
    for round in range(1, 6):
        learner.teach(TASK.answers(learner.query().ids))
        ids = list(learner.labels)
        direct = (
            clone(make()).fit(X[rows_of(ids)], labels_of(ids))
            if round < 3
            else direct.partial_fit(X[rows_of(ids)], labels_of(ids))
        )
        found = learner.predict_proba(X_VALIDATION)
        np.testing.assert_allclose(found, direct.predict_proba(X_VALIDATION), atol=1e-12)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
    record = learner.history[-1]
    assert record.update_sequence == "RRFFF"
    assert record.validation is not None
    assert record.validation.accuracy == np.mean(found.argmax(axis=1) == TASK.validation.labels)
    assert record.validation.accuracy > 0.6


def test_newonly_learns_only_the_newest_labels() -> None:
    learner = learner_of(bayes(), "newonly")
    direct = None
    for _ in range(3):
        ids = learner.query().ids
        record = learner.teach(TASK.answers(ids)).trained
        assert record is not None
        assert record.cost.examples == 9
        rows, y = rows_of(ids), labels_of(ids)
        direct = bayes().fit(X[rows], y) if direct is None else direct.partial_fit(X[rows], y)
    assert direct is not None
    np.testing.assert_allclose(learner.predict_proba(X_VALIDATION), direct.predict_proba(X_VALIDATION))


def test_newonly_with_nothing_new_leaves_the_estimator_as_it_is() -> None:
    learner = learner_of(bayes(), "newonly")
    learner.teach(TASK.answers(learner.query().ids))
    before = learner.predict_proba(X_VALIDATION)
    record = learner.update()
    assert (record.cost.examples, record.cost.steps) == (0, 0)
    assert np.array_equal(learner.predict_proba(X_VALIDATION), before)


def test_a_hybrid_schedule_decides_by_accuracy() -> None:
    learner = learner_of(sgd(), "hybrid:accuracy:1.5:2")
    for _ in range(5):
        learner.teach(TASK.answers(learner.query().ids))
    assert [record.update_sequence for record in learner.history] == ["R", "RR", "RRR", "RRRF", "RRRFF"]
    changes = [record.changes["accuracy"] for record in learner.history]
    assert changes[0] is None
    assert all(change is not None for change in changes[1:])


@pytest.mark.parametrize("signal", ["f1", "loss"])
def test_signals_of_probabilities_work(signal: str) -> None:
    learner = learner_of(bayes(), f"hybrid:{signal}:100.0:1")
    for _ in range(3):
        learner.teach(TASK.answers(learner.query().ids))
    assert learner.history[-1].update_sequence == "RRF"


@pytest.mark.parametrize(
    "acquisition", ["margin", "least-confidence", "coreset", "badge", "cal", "typiclust", "random"]
)
def test_every_other_acquisition_chooses_among_sparse_rows(acquisition: str) -> None:
    learner = learner_of(bayes(), acquisition=acquisition)
    learner.teach(TASK.answers(learner.query().ids))
    ids = learner.query(5).ids
    assert len(set(ids)) == 5
    assert not set(ids) & learner.labels.keys()


# --- classes that come late ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [bayes, sgd])
@pytest.mark.parametrize("schedule", ["finetune", "newonly", "replay:4", "hybrid:accuracy:1.5:1"])
def test_a_class_that_comes_late_is_learnt_with_all_that_came_before(make: Any, schedule: str) -> None:
    learner = learner_of(make(), schedule)
    learner.teach(TASK.answers([*first_ids(0, 5), *first_ids(1, 5)]))
    early = learner.predict_proba(X_VALIDATION)
    assert early.shape == (30, 3)
    assert not early[:, 2].any()
    learner.teach(TASK.answers([*first_ids(0, 6)[5:], *first_ids(1, 6)[5:]]))
    record = learner.teach(TASK.answers(first_ids(2, 6))).trained
    assert record is not None
    late = learner.predict_proba(X_VALIDATION)
    ids = list(learner.labels)
    whole = make().fit(X[rows_of(ids)], labels_of(ids))
    np.testing.assert_allclose(late, whole.predict_proba(X_VALIDATION))
    assert record.cost.examples == 18  # and the cost says what was really trained on
    assert record.validation is not None
    assert np.isfinite(record.validation.nll)


def test_some_estimators_learn_nothing_from_one_class() -> None:
    learner = learner_of(sgd())
    with pytest.raises(UserError, match=r"cannot learn from the labels so far \(.*\); teach more"):
        learner.teach(TASK.answers(first_ids(0, 4)))
    assert set(learner.labels) == set(first_ids(0, 4))  # nothing is lost
    assert learner.history == []
    record = learner.teach(TASK.answers(first_ids(1, 4))).trained
    assert record is not None
    assert record.labels == 8


def test_some_estimators_learn_from_one_class() -> None:
    learner = learner_of(bayes())
    learner.teach(TASK.answers(first_ids(1, 4)))
    assert learner.predict_proba(X_VALIDATION)[:, 1].tolist() == [1.0] * 30


# --- the caller's things -------------------------------------------------------------------------------------------


def test_the_callers_estimator_is_not_modified() -> None:
    estimator = bayes()
    before = copy.deepcopy(vars(estimator))
    learner = learner_of(estimator)
    learner.teach(TASK.answers(learner.query().ids))
    assert vars(estimator) == before


def test_a_state_is_a_value_that_no_later_update_writes_to() -> None:
    learner = learner_of(bayes())
    learner.teach(TASK.answers(learner.query().ids))
    found = []
    for _ in range(2):
        learner.experiment.learn(learner._state, FineTune())
        found.append(learner.predict_proba(X_VALIDATION))
    assert np.array_equal(found[0], found[1])


def test_without_ids_rows_are_numbered() -> None:
    learner = learner_of(bayes(), ids=None)
    assert set(learner.query(90).ids) == set(range(90))


@pytest.mark.parametrize(("kind", "type_"), [(str, str), (int, int), (bool, bool), (np.int64, int)])
def test_ids_and_classes_come_back_as_they_were_given(kind: Any, type_: type) -> None:
    rows = np.arange(40).reshape(40, 1) / 40
    y = [kind(row // 20) for row in range(40)]
    learner = EstimatorLearner(sgd(), rows, rows, y, classes=[kind(0), kind(1)], ids=range(100, 140))
    learner.teach({id: y[id - 100] for id in learner.query(30).ids})
    assert learner.labels == {id: y[id - 100] for id in learner.labels}
    assert {type(label) for label in learner.labels.values()} == {type_}
    assert np.mean(learner.predict(rows) == y) > 0.8


@pytest.mark.parametrize("kind", [pd.DataFrame, np.ndarray.tolist, coo_matrix, csr_array])
def test_rows_may_lie_in_any_kind_of_table(kind: Any) -> None:
    def taught(table: Any) -> Any:
        learner = EstimatorLearner(bayes(), table(X.toarray()), X_VALIDATION, Y_VALIDATION, TASK.classes)
        for _ in range(2):
            batch = learner.query(20)
            learner.teach(batch, [TASK.classes[TASK.train.labels[row]] for row in batch.ids])
        return learner.predict_proba(table(X.toarray()))

    np.testing.assert_allclose(taught(kind), taught(np.asarray))


@pytest.mark.parametrize("schedule", ["retrain", "finetune"])
def test_rows_with_zero_weight_change_nothing(schedule: str) -> None:
    """As in scikit-learn: an estimator that gets wrong labels of weight 0 is the one that never got them."""
    rows, wrong = np.arange(40), np.arange(40) % 4 == 0
    names = np.array(TASK.classes)[np.where(wrong, 1 - TASK.train.labels[:40], TASK.train.labels[:40])]

    def taught(taken: Any, **weights: Any) -> Any:
        learner = EstimatorLearner(bayes(), X, X_VALIDATION, Y_VALIDATION, TASK.classes, schedule=schedule, **weights)
        for part in (taken[:10], taken[10:]):
            learner.teach(dict(zip(part.tolist(), names[part], strict=True)))
        return learner.predict_proba(X)

    weighted = taught(rows, sample_weight=np.where(np.arange(X.shape[0]) % 4 == 0, 0.0, 1.0))
    assert not np.allclose(weighted, taught(rows))
    if schedule == "retrain":
        np.testing.assert_allclose(weighted, taught(rows[~wrong]))


def test_validation_rows_may_be_missing_if_nothing_needs_them() -> None:
    learner = EstimatorLearner(bayes(), X, X[:0], [], TASK.classes, TASK.train.ids, "retrain")
    record = learner.teach(TASK.answers(learner.query(9).ids)).trained
    assert record is not None
    assert record.validation is None
    with pytest.raises(UserError, match="y_validation: got 29 labels for the 30 rows"):
        EstimatorLearner(bayes(), X, X_VALIDATION, Y_VALIDATION[1:], TASK.classes)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": None}, "X: None is not a table; give an array"),
        ({"X": [[1, 2], [3]]}, r"X: \[\[1, 2\], \[3\]\] is not a table"),
        ({"X_validation": 7}, "X_validation: 7 is not a table"),
        ({"X_validation": X_VALIDATION[:, :2]}, r"X has rows of \d+ values and X_validation of 2 values; give both"),
        ({"y_validation": None}, "y_validation must be a list, a column or a one-dimensional array, not None"),
        ({"classes": "sport"}, "`classes` must be a list, a column or a one-dimensional array, not 'sport'"),
    ],
)
def test_wrong_type_of_rows_is_named(given: dict[str, Any], message: str) -> None:
    right = {"X": X, "X_validation": X_VALIDATION, "y_validation": Y_VALIDATION, "classes": TASK.classes}
    with pytest.raises(UserError, match=message):
        EstimatorLearner(bayes(), **{**right, **given})


def test_estimator_error_becomes_one_sentence() -> None:
    rows = np.where(X.toarray() > 0, np.nan, 1.0)
    learner = EstimatorLearner(sgd(), rows, X_VALIDATION, Y_VALIDATION, classes=TASK.classes, ids=TASK.train.ids)
    with pytest.raises(UserError, match=r"\(Input X contains NaN\); teach more, or correct X\.$") as told:
        learner.teach(TASK.answers(learner.query(20).ids))
    assert "\n" not in str(told.value)
    assert len(learner.labels) == 20


def test_predict_of_no_rows_is_empty() -> None:
    learner = learner_of(sgd())
    learner.teach(TASK.answers(learner.query(20).ids))
    assert learner.predict_proba(X[:0]).shape == (0, 3)
    assert learner.predict(X[:0]).shape == (0,)


def test_classes_of_a_set_have_one_order() -> None:
    learner = EstimatorLearner(bayes(), X, X_VALIDATION, Y_VALIDATION, classes={*TASK.classes})
    assert learner.experiment.task.classes == tuple(sorted(TASK.classes))


def test_predict_before_fit_is_refused() -> None:
    with pytest.raises(UserError, match="has not learnt anything yet; teach it first"):
        learner_of(bayes()).predict_proba(X_VALIDATION)


def test_a_label_that_is_no_class_is_named() -> None:
    with pytest.raises(UserError, match="y_validation: 'sprot' is not a class; the classes are sport, food, space"):
        EstimatorLearner(bayes(), X, X_VALIDATION, ["sprot"] * 30, classes=TASK.classes)


@pytest.mark.parametrize("ids", [["a"] * 90, ["a", "b"]])
def test_each_row_needs_an_id_of_its_own(ids: list[str]) -> None:
    with pytest.raises(UserError, match=r"ids: there are \d different ids for the 90 rows of X"):
        learner_of(bayes(), ids=ids)


def test_calibration_scales_the_candidates() -> None:
    plain, scaled = learner_of(bayes()), learner_of(bayes(), calibrate=True)
    for learner in (plain, scaled):
        for _ in range(2):
            learner.teach(TASK.answers(first_ids(0, 5) + first_ids(1, 3) + first_ids(2, 4)))
        learner.query(4)
    temperature = scaled.history[-1].temperature
    assert temperature == plain.history[-1].temperature
    assert temperature is not None
    assert temperature != pytest.approx(1.0, abs=0.05)
    powered = scaled.predict_proba(X[rows_of(scaled.history[-1].acquired)]) ** (1 / temperature)
    expected = entropies(powered / powered.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(scaled.history[-1].scores, expected, rtol=1e-6)
    unscaled = entropies(plain.predict_proba(X[rows_of(plain.history[-1].acquired)]))
    np.testing.assert_allclose(plain.history[-1].scores, unscaled, rtol=1e-6)


def test_same_seed_gives_the_same_run() -> None:
    histories = []
    for _ in range(2):
        learner = learner_of(sgd(), "hybrid:accuracy", acquisition="badge", seed=5)
        for _ in range(3):
            learner.teach(TASK.answers(learner.query().ids))
        histories.append([replace(record, seconds={}) for record in learner.history])
    assert histories[0] == histories[1]


def sampled_learner(estimator: Any, n: int = 30) -> EstimatorLearner:
    """Labels that were brought along and chosen ones, then `n` random ones."""
    learner = EstimatorLearner(estimator, X, X[:0], [], classes=TASK.classes, ids=TASK.train.ids, schedule="retrain")
    learner.teach(TASK.answers(TASK.train.ids[:12]))
    learner.teach(TASK.answers(learner.query(12).ids))
    batch = learner.query_random(n)
    learner.teach(TASK.answers(batch.ids))
    return learner


def test_shares_rest_on_random_rows_that_the_estimator_never_learns() -> None:
    learner = sampled_learner(bayes())
    random = {id for id, how in learner.drawn.items() if how == "random"}
    assert len(random) == 30
    assert not random & {*learner.labels}
    texts = learner.estimated_texts()
    assert {texts.ids[row] for row in texts.texts.random_rows} == random
    np.testing.assert_allclose(texts.texts.predicted[0], learner.predict_proba(X), atol=1e-9)
    groups = pd.Series([number % 2 for number in range(len(TASK.train))], list(TASK.train.ids), name="branch")
    shares = learner.estimate(by=groups)
    assert shares.table.groups == ("0", "1")
    found = {line.name: line.estimate for line in shares.table.of("share", "")}
    for name, share in zip(TASK.classes, np.bincount(TASK.train.labels) / len(TASK.train), strict=True):
        interval = found[name]
        assert interval is not None
        assert interval.low <= share <= interval.high
    assert "estimator MultinomialNB, 24 labels learnt in 3 rounds" in shares.methods
    assert shares.sentences[0].startswith(f"{TASK.classes[0]}: ")


def test_random_rows_that_it_has_learnt_are_compared_with_clones_that_have_not() -> None:
    learner = learner_of(bayes(), "retrain", acquisition="random")
    learner.teach(TASK.answers(learner.query(40).ids))
    texts = learner.estimated_texts()
    crossed = [
        TASK.train.ids.index(texts.ids[row]) for row in texts.texts.random_rows if texts.ids[row] in learner.labels
    ]
    assert texts.basis.crossed == len(crossed) == 40
    assert texts.basis.labels == 40 + len(TASK.validation)
    fold = texts.texts.fold[crossed[0]]
    left = [row for row in crossed if texts.texts.fold[row] != fold]
    without = bayes().fit(X[left], TASK.train.labels[left]).predict_proba(X)
    np.testing.assert_allclose(texts.texts.predicted[fold][: len(TASK.train)], without, atol=1e-9)


def test_shares_of_an_estimator_that_has_learnt_nothing() -> None:
    with pytest.raises(UserError, match="has not learnt anything yet"):
        learner_of(bayes()).estimate()
