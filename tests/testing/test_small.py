from __future__ import annotations

import numpy as np
import pytest

from hybridal.testing.small import toy_task


@pytest.mark.parametrize("classes", [2, 3])
def test_sizes_classes_and_ids_are_as_asked(classes: int) -> None:
    task = toy_task(train=31, validation=12, test=7, classes=classes)
    assert [len(split) for _, split in task.splits()] == [31, 12, 7]
    assert len(task.classes) == classes
    ids = [id for _, split in task.splits() for id in split.ids]
    assert len(set(ids)) == len(ids)
    for _, split in task.splits():
        counts = np.bincount(split.labels, minlength=classes)
        assert counts.max() - counts.min() <= 1


def test_a_seed_gives_one_task() -> None:
    assert toy_task().fingerprint == toy_task().fingerprint
    assert toy_task(seed=1).fingerprint != toy_task().fingerprint


@pytest.mark.parametrize("classes", [2, 3])
def test_the_class_can_be_predicted_from_the_words(classes: int) -> None:
    """A word that occurs in only one class of train identifies the class of every test text that contains it."""
    task = toy_task(train=300, test=100, classes=classes)
    words: list[set[str]] = [set() for _ in range(classes)]
    for text, label in zip(task.train.texts, task.train.labels, strict=True):
        words[label] |= set(text.split())
    own = [w - set().union(*(other for other in words if other is not w)) for w in words]
    votes = np.array([[len(set(text.split()) & mine) for mine in own] for text in task.test.texts])
    assert ((votes > 0).sum(axis=1) == 1).all()
    assert votes.argmax(axis=1).tolist() == task.test.labels.tolist()
