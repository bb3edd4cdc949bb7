from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import UNKNOWN
from hybridal.core.pool import Pool

CLASSES = 5
SETS = st.lists(st.frozensets(st.integers(0, CLASSES - 1)), min_size=1, max_size=20)


def numbered(sets: LabelSets, given: list[frozenset[int]]) -> np.ndarray:
    return np.array([sets.number(one) for one in given], dtype=np.int64)


@given(SETS)
def test_a_set_keeps_its_number_and_its_classes(given: list[frozenset[int]]) -> None:
    sets = LabelSets(CLASSES)
    numbers = numbered(sets, given)
    assert [frozenset(sets.present(number)) for number in numbers] == given
    assert (numbers == numbered(sets, given)).all()
    for one, number in zip(given, numbers, strict=True):
        assert len(one) != 1 or number == next(iter(one))
        assert (number == CLASSES) == (not one)


@given(SETS)
def test_targets_and_counts_are_those_of_the_sets(given: list[frozenset[int]]) -> None:
    sets = LabelSets(CLASSES)
    numbers = numbered(sets, given)
    expected = np.array([[float(c in one) for c in range(CLASSES)] for one in given])
    np.testing.assert_array_equal(sets.targets(numbers), expected)
    np.testing.assert_array_equal(sets.counts(numbers), expected.sum(axis=0))


def test_the_table_of_targets_grows_with_the_sets() -> None:
    sets = LabelSets(2)
    assert np.isnan(sets.targets(np.array([UNKNOWN]))).all()
    both = sets.number([0, 1])
    np.testing.assert_array_equal(sets.targets(np.array([both, UNKNOWN])), [[1, 1], [np.nan, np.nan]])


def test_partial_sets_leave_classes_unknown() -> None:
    sets = LabelSets(3)
    partial = sets.number([0], absent=[2])
    np.testing.assert_array_equal(sets.targets(np.array([partial])), [[1, np.nan, 0]])
    assert not sets.is_whole(partial)
    assert sets.number([0], absent=[1, 2]) == 0  # all classes are decided


@given(SETS)
def test_other_numberings_are_translated(given: list[frozenset[int]]) -> None:
    one, other = LabelSets(CLASSES), LabelSets(CLASSES)
    labels = np.append(numbered(one, given), UNKNOWN)
    numbered(other, given[::-1])
    there = other.translated(labels, one.sets)
    np.testing.assert_array_equal(other.targets(there), one.targets(labels))


def test_classes_are_renumbered_dropped_and_added() -> None:
    sets = LabelSets(3)
    labels = np.array([sets.number([0, 2]), sets.number([1]), sets.number([], absent=[1, 2]), UNKNOWN])
    other, numbers = sets.renumbered([2, None, 0])
    expected = [[1, 0, 1], [0, 0, 0], [0, np.nan, np.nan], [np.nan] * 3]
    np.testing.assert_array_equal(other.targets(numbers[labels]), expected)


def test_label_changes_count_texts_and_classes() -> None:
    sets = LabelSets(3)
    pool = Pool.unlabelled(6, sets).reveal({0: sets.number([0, 1]), 1: sets.number([])}).learnt()
    changes = pool.reveal({2: sets.number([1, 2]), 3: 0, 1: sets.number([2])}).label_changes()
    assert (changes.known, changes.added, changes.corrected, changes.labels) == (1, 2, 1, 4)
    assert changes.counts == (2, 2, 2)
    assert (changes.new_class_count, changes.unseen) == (1, 2)  # class 2, of two texts


def test_the_rarest_class_of_a_text() -> None:
    sets = LabelSets(3)
    pool = Pool.unlabelled(5, sets).reveal({0: 0, 1: 0, 2: sets.number([0, 1]), 3: sets.number([])})
    assert pool.rarest_class()[:4].tolist() == [0, 0, 1, 3]


@pytest.mark.parametrize("labels", [{0: 1, 1: 0}, {}])
def test_one_class_per_text_needs_no_sets(labels: dict[int, int]) -> None:
    pool = Pool.unlabelled(3).reveal(labels)
    assert pool.label_changes().texts is None
    assert pool.rarest_class() is pool.labels


def test_further_decisions_on_a_text_are_no_correction() -> None:
    sets = LabelSets(3)
    one, both = sets.number([0], absent=[]), sets.number([0], absent=[2])
    pool = Pool.unlabelled(3, sets).reveal({0: one, 1: one, 2: both}).learnt()
    now = pool.reveal({0: both, 1: sets.number([], absent=[0]), 2: one})
    assert now.newest_rows().tolist() == [0, 1, 2]
    assert (now.label_changes().added, now.label_changes().corrected) == (1, 2)  # 1 is contradicted, 2 is taken back
    assert pool.reveal({0: 0}).label_changes().corrected == 0
