from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hybridal import ActiveLearner
from hybridal.errors import UserError
from hybridal.learners.transfer import transfer_learner
from hybridal.tasks import Task
from hybridal.testing.small import multi_label_task, toy_task

TASK = toy_task()


def learner(task: Task) -> ActiveLearner:
    return ActiveLearner(task, backbone="tiny", protocol="quick", schedule="finetune", device="cpu", max_epochs=1)


def taught() -> ActiveLearner:
    first = learner(TASK)
    first.teach(TASK.answers(first.query(8).ids))
    return first


def test_rows_of_the_head_are_kept_by_class_and_labels_that_are_gone_count_as_withdrawn() -> None:
    first = taught()
    gone = [*first.labels][:2]
    rows = np.array([row for row, id in enumerate(TASK.train.ids) if id not in gone][::-1])
    sport, food = TASK.classes
    second = learner(replace(TASK, classes=("space", food, "balls"), train=TASK.train.take(rows)))
    transfer_learner(first, second, {food: food, "balls": sport})
    assert second.labels == {
        id: {sport: "balls"}.get(name, name) for id, name in first.labels.items() if id not in gone
    }
    assert (second.history, second.label_changes.withdrawn, second.label_changes.added) == (first.history, 2, 0)
    before, after = (one.transformer.classifier.weights() for one in (first, second))
    for name, values in after.items():
        if values.shape == before[name].shape:
            assert torch.equal(values, before[name]), name
        else:
            assert torch.equal(values[[1, 2]], before[name][[1, 0]])
            assert torch.equal(values[0], second.transformer.pretrained[name][0])
    assert second.teach(TASK.answers(second.query(4).ids), update=False).trained is None
    assert second.update().update_sequence == "FF"


def test_labels_of_a_model_stay_labels_of_a_model() -> None:
    first = learner(TASK)
    sport, food = TASK.classes
    first.teach({"train-1": sport, "train-2": food}, update=False)
    first.teach({"train-1": food, "train-3": sport, "train-4": food}, by="model")
    first.teach({"train-5": sport}, update=False, by="model")  # not learnt yet, so that it is no label there
    rows = np.array([row for row, id in enumerate(TASK.train.ids) if id != "train-4"][::-1])
    second = learner(replace(TASK, classes=("space", food, "balls"), train=TASK.train.take(rows)))
    transfer_learner(first, second, {food: food, "balls": sport})
    pool, ids = second.pool, second.experiment.task.train.ids
    assert [ids[row] for row in pool.by_model] == ["train-3"]
    answers = {ids[row]: label for row, label in enumerate(pool.model_labels.tolist()) if label >= 0}
    assert answers == {"train-1": 1, "train-3": 2, "train-5": 2}
    assert second.model_errors.texts == 1


def test_a_learner_that_has_learnt_nothing_gives_nothing() -> None:
    second = learner(TASK)
    transfer_learner(learner(TASK), second, {name: name for name in TASK.classes})
    assert not second.history


def test_texts_that_are_left_out_are_neither_asked_for_nor_learnt() -> None:
    first = taught()
    left = [*first.labels][:3]
    others = [id for id in TASK.train.ids if id not in first.labels]
    first.leave_out([*left, *others[:-2]])
    assert {*first.query(10).ids} == {*others[-2:]}
    assert (len(first.labels), first.label_changes.withdrawn) == (5, 3)
    first.leave_out([])
    assert {*left} < {*first.query(500).ids}


def test_with_several_labels_thresholds_follow_their_classes() -> None:
    task = multi_label_task()
    assert task.label_sets is not None
    sets, numbers = task.label_sets.renumbered([1, 0])
    train, validation, test = (replace(split, labels=numbers[split.labels]) for _, split in task.splits())
    two = Task("two", ("food", "sport"), train, validation, test, label_sets=sets)
    first, second = (ActiveLearner(one, backbone="tiny", protocol="best", device="cpu") for one in (two, task))
    first.teach(two.answers(two.train.ids[:40]))
    transfer_learner(first, second, {"food": "food", "sport": "sport"})
    at = first.history[-1].thresholds
    texts = task.test.texts
    assert second.model.thresholds == (at[1], at[0], 1.0)  # sport, food, and space, which is not learnt yet
    assert second.predict(texts).tolist() == first.predict(texts).tolist()
    assert all("space" not in (query.labels or ()) for query in second.query(5))


def test_decisions_on_some_classes_are_taught_kept_and_transferred(tmp_path: Path) -> None:
    task = multi_label_task()
    first = learner(task)
    one, other = task.classes[:2]
    taught = {"train-0": {one: True}, "train-1": {one: False, other: True}, "train-2": frozenset([one])}
    first.teach({**taught, "train-3": dict.fromkeys(task.classes, False)})
    assert first.labels == {**taught, "train-3": frozenset()}  # all classes are decided: a whole set
    assert ActiveLearner.load(first.save(tmp_path / "learner")).labels == first.labels
    second = learner(task.only(task.classes[1:]))
    transfer_learner(first, second, {name: name for name in task.classes[1:]})
    assert second.labels == {"train-1": {other: True}, "train-2": frozenset(), "train-3": frozenset()}
    for wrong in ({}, {one: "yes"}):
        with pytest.raises(UserError, match="give True or False for each class"):
            first.teach({"train-0": wrong}, update=False)


def test_decisions_add_to_what_is_known_of_a_text() -> None:
    task = multi_label_task()
    first = learner(task)
    one, other, third = task.classes
    measured = task.validation.ids[0]
    first.withdraw([measured])
    first.teach({"train-0": {one: True}, "train-1": {one, other}, measured: {one: True}}, update=False)
    first.teach(
        {"train-0": {other: False}, "train-1": {other: False}, measured: {one: False, other: True}}, update=False
    )
    assert first.labels == {"train-0": {one: True, other: False}, "train-1": {one}}
    assert first.validation_labels[measured] == {one: False, other: True}
    first.teach({"train-0": {third: True}}, update=False)
    assert first.labels["train-0"] == {one, third}
    with pytest.raises(UserError, match="'none' is not a class"):
        first.teach({"train-1": {"none": False}}, update=False)
