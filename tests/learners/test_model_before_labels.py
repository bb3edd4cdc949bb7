"""A learner predicts from class names and descriptions before its first update."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybridal import ActiveLearner
from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.learners.text_classifier import TextClassifier
from hybridal.tasks import Task
from hybridal.testing.small import multi_label_task, toy_task

TASK = toy_task(train=60, validation=0, test=0).with_descriptions(
    {"food": "soup and bread", "sport": "teams and goals"}
)
TEXTS = ["the team and the coach", "soup"]


def learner_of(task: Task = TASK, protocol: str = "best") -> ActiveLearner:
    return ActiveLearner(task, "tiny", "retrain", protocol, device="cpu", max_length=16, max_epochs=1, min_steps=4)


def test_predictions_without_a_label_are_marked() -> None:
    learner = learner_of()
    assert "no label learnt yet: predicts from class names and descriptions alone" in repr(learner)
    model, found = learner.model, learner.predict_proba(TEXTS)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert learner.predict(TEXTS).tolist() == [TASK.classes[best] for best in found.argmax(axis=1)]
    assert model.labels_learnt == 0
    assert 0.5 < learner.predict_proba(TASK.train.texts).max(axis=1).mean() < 0.8
    learner.teach(TASK.answers(TASK.train.ids[:12]))
    assert "no label" not in repr(learner)
    assert learner.model.labels_learnt == 12
    assert not np.allclose(learner.predict_proba(TEXTS), found)
    np.testing.assert_array_equal(model.predict_proba(TEXTS), found)


def test_rounds_are_those_of_a_learner_that_predicted_nothing_before() -> None:
    def taught(*, predicts_before: bool) -> tuple[list[Round], np.ndarray]:
        learner = learner_of()
        if predicts_before:
            learner.predict(TEXTS)
        for _ in range(2):  # a probe, then a training
            learner.teach(TASK.answers(learner.query(20).ids))
        return [replace(record, seconds={}) for record in learner.history], learner.predict_proba(TEXTS)

    (records, found), (expected, others) = taught(predicts_before=True), taught(predicts_before=False)
    assert records == expected
    assert records[-1].cost.steps > 0
    np.testing.assert_array_equal(found, others)


def test_its_folder_says_that_no_label_was_learnt(tmp_path: Path) -> None:
    model = learner_of().model
    again = TextClassifier.load(model.save(tmp_path / "model"), "cpu")
    np.testing.assert_allclose(again.predict_proba(TEXTS), model.predict_proba(TEXTS), atol=1e-5)
    assert again.labels_learnt == 0
    card = (tmp_path / "model" / "README.md").read_text()
    assert "**without labels**" in card
    assert "in round" not in card


def test_several_labels_per_text() -> None:
    task = multi_label_task(train=60, validation=0, test=0)
    learner = learner_of(task)
    given = learner.predict(task.train.texts)
    assert learner.model.thresholds == pytest.approx([0.3] * 3, abs=0.2)
    assert 0.2 < np.mean([len(one) for one in given]) < 2.5  # about one class per text is expected


@pytest.mark.parametrize(
    ("task", "protocol"),
    [
        pytest.param(TASK, "quick", id="the protocol uses no names"),
        pytest.param(replace(toy_task(), classes=("1", "2")), "best", id="names without letters"),
        pytest.param(replace(TASK, classes=("1", "2"), descriptions={"1": ("goals",)}), "best", id="half described"),
    ],
)
def test_nothing_is_known_of_the_classes(task: Task, protocol: str) -> None:
    learner = learner_of(task, protocol)
    assert "nothing learnt yet" in repr(learner)
    for ask in (learner.predict, learner.predict_proba, lambda _: learner.model):
        with pytest.raises(UserError, match="has not learnt anything yet; teach it first"):
            ask(TEXTS)


def test_descriptions_make_up_for_names_without_letters() -> None:
    task = replace(TASK, classes=("1", "2"), descriptions={"1": ("goals",), "2": ("soup",)})
    assert learner_of(task).predict_proba(TEXTS).shape == (2, 2)
