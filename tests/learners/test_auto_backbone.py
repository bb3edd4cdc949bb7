"""Learners that choose their pretrained encoder among several."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hybridal.errors import UserError
from hybridal.learners.active_learner import ActiveLearner
from hybridal.learners.text_classifier import TextClassifier
from hybridal.learners.transfer import transfer_learner
from hybridal.models.encoder_candidates import EncoderCandidates
from hybridal.tasks import Task
from hybridal.testing.small import multi_label_task, toy_task
from tests.helpers.topic_encoder import topic_encoder


def auto_learner(task: Task, folder: Path, **more: object) -> ActiveLearner:
    encoder = folder if folder.exists() else topic_encoder(task, folder)
    rules = {"max_epochs": 2, "min_steps": 4, "learning_rate": 1e-3, "batch": 8, "probe_until": 4, **more}
    return ActiveLearner(task, f"auto:tiny,{encoder}", device="cpu", **rules)  # type: ignore[arg-type]


def teach(learner: ActiveLearner, n: int) -> None:
    learner.teach(learner.experiment.task.answers(learner.query(n).ids))


def test_the_learner_changes_its_encoder_and_predicts_with_it(tmp_path: Path) -> None:
    learner = auto_learner(toy_task(), tmp_path / "topics")
    assert learner.backbone == "tiny"
    teach(learner, 6)
    assert learner.backbone == "tiny"
    teach(learner, 10)
    assert learner.backbone == learner.model.backbone == str(tmp_path / "topics")
    teach(learner, 30)
    test = learner.experiment.task.test
    probabilities = learner.predict_proba(test.texts)
    assert (probabilities.argmax(axis=1) == test.labels).mean() > 0.9
    folder = learner.model.save(tmp_path / "model")
    assert TextClassifier.load(folder).predict_proba(test.texts) == pytest.approx(probabilities, abs=1e-5)


def test_a_saved_learner_goes_on_as_if_it_had_not_been_saved(tmp_path: Path) -> None:
    learner = auto_learner(toy_task(), tmp_path / "topics")
    teach(learner, 6)
    teach(learner, 10)
    learner.save(tmp_path / "saved")
    loaded = ActiveLearner.load(tmp_path / "saved")
    assert loaded.backbone == learner.backbone
    for each in (learner, loaded):
        teach(each, 8)
    assert replace(loaded.history[-1], seconds={}) == replace(learner.history[-1], seconds={})


def test_a_learner_without_the_chosen_encoder_cannot_go_on(tmp_path: Path) -> None:
    learner = auto_learner(toy_task(), tmp_path / "topics")
    teach(learner, 16)
    other = ActiveLearner(toy_task(), "auto:tiny", device="cpu")
    with pytest.raises(UserError, match=r"^The encoder '.*topics' of the last round is not among the candidates; name"):
        transfer_learner(learner, other, {name: name for name in toy_task().classes})


def test_a_failed_round_leaves_the_encoder_of_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learner = auto_learner(toy_task(), tmp_path / "topics")
    teach(learner, 6)
    before = learner.predict_proba(["goal team"])

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(EncoderCandidates, "fit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        teach(learner, 10)
    assert learner.backbone == "tiny"
    assert (learner.predict_proba(["goal team"]) == before).all()


def test_several_labels_per_text(tmp_path: Path) -> None:
    learner = auto_learner(multi_label_task(), tmp_path / "topics")
    teach(learner, 40)
    assert learner.backbone == str(tmp_path / "topics")
    assert learner.history[-1].encoder
    assert len(learner.history[-1].encoder.losses) == 2


def test_labels_of_validation_texts_reach_all_candidates(tmp_path: Path) -> None:
    learner = auto_learner(toy_task(), tmp_path / "topics", validation="fixed")
    learner.withdraw(["validation-0", "validation-1"])
    learner.teach(learner.experiment.task.answers(learner.experiment.task.train.ids[:16]))
    assert learner.backbone == str(tmp_path / "topics")
    assert learner.history[-1].validation
    assert learner.history[-1].validation.n == 38


def test_a_candidate_that_does_not_exist_is_named() -> None:
    with pytest.raises(UserError, match=r"Backbone './nowhere' is not a folder"):
        ActiveLearner(toy_task(), "auto:tiny,./nowhere", device="cpu")
