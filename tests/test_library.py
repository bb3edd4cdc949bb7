"""Code as users with a DataFrame and a notebook write it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import hybridal
from hybridal import (
    ActiveLearner,
    Batch,
    Candidates,
    LabelChanges,
    Observer,
    Round,
    Schedule,
    Selection,
    Task,
    TextClassifier,
    Update,
    UserError,
)
from hybridal.testing.small import toy_task
from hybridal.updates.finetune import FineTune
from hybridal.updates.retrain import Retrain

from .cli.made_up import EnoughLabels
from .helpers.stand_in_hub import stand_in_hub
from .trackers.test_tracking import Flaky

RULES: dict[str, Any] = {
    "max_length": 12,
    "max_epochs": 2,
    "min_steps": 4,
    "min_finetune_steps": 4,
    "learning_rate": 2e-3,
    "probe_until": 10,
}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Texts under whole numbers, with labels that are numbers too."""
    rows = toy_task(train=90).train
    return pd.DataFrame({"body": rows.texts, "category": rows.labels + 7}, index=range(1000, 1090))


@pytest.fixture(scope="module")
def taught(frame: pd.DataFrame) -> ActiveLearner:
    task = Task.from_pandas(frame, text="body", label="category", validation_size=0, test_size=0)
    learner = ActiveLearner(
        task, backbone="tiny", schedule="auto", acquisition="entropy", seed=1, device="cpu", **RULES
    )
    for _ in range(3):
        batch = learner.query(12)
        learner.teach(batch, frame["category"].loc[batch.ids].tolist())
    return learner


def test_ids_and_labels_keep_their_types(taught: ActiveLearner, frame: pd.DataFrame) -> None:
    assert taught.labels.items() <= frame["category"].to_dict().items()
    assert {type(value) for value in (*taught.labels, *taught.labels.values())} == {int}
    assert set(taught.predict(["the match", "the soup"])) <= {7, 8}


def test_batch_has_texts_and_scores(taught: ActiveLearner, frame: pd.DataFrame) -> None:
    batch = taught.query(5)
    assert isinstance(batch, Batch)
    assert len(batch) == len(batch.ids) == 5
    assert batch.texts == frame["body"].loc[batch.ids].tolist()
    assert batch[:2].ids == batch.ids[:2]
    for query in batch:
        assert query.probabilities is not None
        assert query.probabilities.keys() == {7, 8}
        assert sum(query.probabilities.values()) == pytest.approx(1.0)
    scores = [query.score for query in batch if query.score is not None]
    assert scores == sorted(scores, reverse=True)
    table = batch.to_pandas()
    assert table.index.tolist() == batch.ids
    assert table.columns.tolist() == ["text", "score", "p(7)", "p(8)"]
    np.testing.assert_allclose(table[["p(7)", "p(8)"]], taught.predict_proba(batch.texts), atol=1e-5)


def test_before_there_is_a_model_a_batch_has_neither_scores_nor_probabilities(frame: pd.DataFrame) -> None:
    task = Task.from_pandas(frame, text="body", classes=[7, 8])
    batch = ActiveLearner(task, backbone="tiny", device="cpu", **RULES).query(3)
    assert [(query.score, query.probabilities) for query in batch] == [(None, None)] * 3


def test_the_history_is_a_table(taught: ActiveLearner) -> None:
    table = taught.history.to_pandas()
    assert table.index.tolist() == [1, 2, 3]
    assert table["labels"].tolist() == [record.labels for record in taught.history]
    assert {"update", "steps", "validation_f1", "change_agreement", "seconds_train"} <= set(table.columns)
    assert "<table" in taught.history._repr_html_()
    assert table["validation_accuracy_low"].iloc[-1] < table["validation_accuracy"].iloc[-1]
    assert np.isnan(table["validation_f1"].astype(float)).all(), "three texts tell no macro-F1"


def test_notebook_repr_shows_the_progress(taught: ActiveLearner) -> None:
    assert repr(taught).startswith("ActiveLearner(task 'frame', 2 classes, ")
    assert "accuracy 1.000 (0.439 to 1.000) on 3 texts" in repr(taught)
    shown = taught._repr_html_()
    assert "<svg" in shown
    assert "Next update: " in shown
    assert taught.advice().sentence in shown


def test_a_report_is_a_page(taught: ActiveLearner, tmp_path: Path) -> None:
    page = taught.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert "Macro-F1" in page
    assert taught.advice().sentence.split(";")[0] in page


def test_model_and_labels_go_to_the_hub(taught: ActiveLearner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stand_in_hub(tmp_path, monkeypatch) as hub:
        assert taught.model.push_to_hub("me/model") == f"{hub.address}/me/model"
        assert taught.push_labels_to_hub("me/labels", private=False) == f"{hub.address}/datasets/me/labels"
    pushed = pd.read_parquet(tmp_path / "me" / "labels" / "train.parquet").set_index("id")["label"]
    assert pushed.to_dict() == taught.labels
    again = TextClassifier.load(tmp_path / "me" / "model", device="cpu")
    np.testing.assert_allclose(again.predict_proba(["the match"]), taught.predict_proba(["the match"]), atol=1e-5)


def test_a_model_stays_as_it_is_while_its_learner_learns_on(frame: pd.DataFrame, tmp_path: Path) -> None:
    task = Task.from_pandas(frame, text="body", label="category", validation_size=0, test_size=0)
    learner = ActiveLearner(task, backbone="tiny", seed=1, device="cpu", **RULES)
    batch = learner.query(30)
    learner.teach(batch, frame["category"].loc[batch.ids].tolist())
    texts = frame["body"].tolist()[:20]
    model, before = learner.model, learner.predict_proba(texts)
    assert learner.model is model
    more = learner.query(20)
    learner.teach(more, frame["category"].loc[more.ids].tolist())
    np.testing.assert_allclose(model.predict_proba(texts), before, atol=1e-6)
    assert np.abs(learner.model.predict_proba(texts) - before).max() > 1e-3
    model.save(tmp_path / "folder")
    again = TextClassifier.load(tmp_path / "folder", device="cpu")
    assert again.classes == model.classes == (7, 8)
    np.testing.assert_allclose(again.predict_proba(texts), before, atol=1e-5)
    assert again.predict(texts).tolist() == model.predict(texts).tolist()
    TextClassifier.load(again.save(tmp_path / "copy"), device="cpu")


def test_labels_may_be_left_out_and_must_be_as_many_as_texts(frame: pd.DataFrame) -> None:
    task = Task.from_pandas(frame, text="body", classes=[7, 8])
    learner = ActiveLearner(task, backbone="tiny", device="cpu", **RULES)
    batch = learner.query(4)
    learner.teach(batch, [7, None, float("nan"), 8], update=False)
    assert list(learner.labels.values()) == [7, 8]
    with pytest.raises(UserError, match="4 texts and 3 labels"):
        learner.teach(batch, [7, 7, 8])
    with pytest.raises(UserError, match="pass a dict or labels, not both"):
        learner.teach({1000: 7}, [7])
    with pytest.raises(UserError, match="'9' is not a class"):
        learner.teach({1000: 9})
    with pytest.raises(UserError, match="'5' is not the id of a text"):
        learner.teach({5: 7})


@dataclass(frozen=True)
class SurestFirst:
    """A user's own acquisition."""

    name: ClassVar[str] = "surest-first"
    power: int = 1

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:
        scores = candidates.probabilities().max(axis=1) ** self.power
        order = np.argsort(-scores)[:n]
        return Selection(tuple(candidates.ids[i] for i in order), tuple(float(scores[i]) for i in order))


@dataclass(frozen=True)
class Alternately(Schedule):
    """A user's own schedule."""

    every: int = 2
    name: ClassVar[str] = "alternately"

    @property
    def spec(self) -> str:
        return f"{__name__}.Alternately:{self.every}"

    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
        return FineTune() if len(history) % self.every else Retrain()


def test_components_of_other_people_survive_being_saved(tmp_path: Path) -> None:
    heard: list[int] = []

    class Listener(Observer):
        def epoch_done(self, epoch: int, of: int) -> None:
            heard.append(epoch)

    task = toy_task()
    learner = ActiveLearner(
        task,
        backbone="tiny",
        schedule=Alternately(2),
        acquisition=SurestFirst(3),
        signals=["loss"],
        device="cpu",
        observer=Listener(),
        tracker=(tracker := Flaky()),
        **RULES,
    )
    for _ in range(3):
        learner.teach(task.answers(learner.query(12).ids))
    assert learner.history[-1].update_sequence == "RFR"
    assert heard
    assert tracker.rounds == [1, 2, 3]
    again = ActiveLearner.load(learner.save(tmp_path / "run"), tracker=(other := Flaky()))
    assert (again.schedule, again.experiment.acquisition) == (Alternately(2), SurestFirst(3))
    assert again.query(6).ids == learner.query(6).ids
    again.teach(task.answers(again.query(6).ids))
    assert (other.begun, other.rounds) == (tracker.begun, [1, 2, 3, 4])


def test_history_has_the_switch_of_a_users_own_schedule(tmp_path: Path) -> None:
    task = toy_task()
    learner = ActiveLearner(task, backbone="tiny", schedule=EnoughLabels(20), device="cpu", **RULES)
    for _ in range(3):
        learner.teach(task.answers(learner.query(12).ids))
    assert learner.history[-1].update_sequence == "RRF"
    again = ActiveLearner.load(learner.save(tmp_path / "run"))
    assert again.schedule.t_star(again.history) == learner.schedule.t_star(learner.history) == 2
    assert learner.schedule.t_star(learner.history[:1]) is None


def test_components_that_cannot_be_rebuilt_are_refused_at_the_start() -> None:
    class Hidden:
        name: ClassVar[str] = "hidden"

        def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:
            raise NotImplementedError

    with pytest.raises(UserError, match="define its class in a module"):
        ActiveLearner(toy_task(), backbone="tiny", acquisition=Hidden(), device="cpu")


def test_names_for_extensions_can_be_imported() -> None:
    for name in hybridal.__all__:
        assert getattr(hybridal, name) is not None
