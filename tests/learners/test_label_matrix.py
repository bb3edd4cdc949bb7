from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.preprocessing import MultiLabelBinarizer

from hybridal.errors import UserError
from hybridal.learners.label_matrix import LabelMatrix, as_matrix, as_sets

SETS = [{"food", "sport"}, set[str](), {"space"}, {"sport"}]
GIVEN = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize(
    ("y", "classes", "is_indicator"),
    [
        (SETS, ("food", "space", "sport"), False),
        ([[*own] for own in SETS], ("food", "space", "sport"), False),
        (pd.Series(SETS), ("food", "space", "sport"), False),
        (as_sets(GIVEN, ["food", "space", "sport"]), ("food", "space", "sport"), False),
        (GIVEN, (0, 1, 2), True),
        (GIVEN.astype(bool), (0, 1, 2), True),
        (GIVEN.astype(float), (0, 1, 2), True),
        (GIVEN.tolist(), (0, 1, 2), True),
        (csr_matrix(GIVEN), (0, 1, 2), True),
        (pd.DataFrame(GIVEN, columns=["a", "b", "c"]), ("a", "b", "c"), True),
    ],
)
def test_every_form_of_several_labels(y: Any, classes: tuple[Any, ...], is_indicator: bool) -> None:
    found = LabelMatrix.of(y)
    assert found is not None
    assert (found.classes, found.is_indicator) == (classes, is_indicator)
    assert (found.given == GIVEN).all()


@pytest.mark.parametrize("y", [["a", "b"], [0, 1], np.array([0, 1]), pd.Series(["a", "b"]), []])
def test_one_label_per_text_is_no_matrix(y: Any) -> None:
    assert LabelMatrix.of(y) is None


def test_lists_of_numbers_of_several_lengths_are_sets() -> None:
    found = LabelMatrix.of([[0], [1, 0], []])
    assert found is not None
    assert found.given.tolist() == [[True, False], [True, True], [False, False]]


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (np.ones((4, 1)), "y has 1 column; give one label per text as a list or column, or an indicator matrix"),
        (np.array([[0, 1], [2, 0]]), r"y: row 1, column 0 is .*2.*; an indicator matrix has 0 and 1 only"),
        (np.array([[0, np.nan], [1, 0]]), r"y: row 0, column 1 is .*nan.*; an indicator matrix"),
        ([{"a"}, None], "y: text 1 has no label; leave it out, or give an empty set"),
        ([{"a"}, "b"], "y: number 1 is 'b', and others are sets of classes"),
        ([{"a"}, {"b": 1}], "y: number 1 is {'b': 1}, and others are sets"),
        ([{"a"}, {None}], r"y: number 1 is {None}; each item must be a class"),
        ([["a"], [["b"]]], r"y: number 1 is \[\['b'\]\]; each item must be a class"),
    ],
)
def test_labels_that_are_neither_a_matrix_nor_sets_are_refused(y: Any, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        LabelMatrix.of(y)


def test_sets_become_what_scikit_learn_makes_of_them() -> None:
    binarizer = MultiLabelBinarizer()
    assert (binarizer.fit_transform(SETS) == as_matrix(SETS, list(binarizer.classes_))).all()
    assert as_sets(GIVEN, list(binarizer.classes_)).tolist() == SETS


def test_a_task_keeps_the_labels_of_its_texts() -> None:
    found = LabelMatrix.of(SETS * 10)
    assert found is not None
    texts = [f"text {row}" for row in range(40)]
    task = found.task(texts, validation_size=8, seed=3)
    assert (len(task.train), len(task.validation), task.multi_label) == (32, 8, True)
    for _, split in task.splits():
        for text, label in zip(split.texts, split.labels, strict=True):
            assert task.label(label) == SETS[texts.index(text) % 4]
    with pytest.raises(UserError, match="got 39 texts and 40 labels"):
        found.task(texts[1:], validation_size=8, seed=3)
