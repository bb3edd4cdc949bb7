from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import UNKNOWN
from hybridal.errors import UserError
from hybridal.tasks.splits import divide, draw, hold_out, shares, validation_size
from hybridal.tasks.task import Split

LABELS = st.lists(st.integers(UNKNOWN, 4), min_size=1, max_size=60).map(lambda labels: np.array(labels, dtype=np.int64))


def drawable(labels: np.ndarray) -> int:
    known = int((labels >= 0).sum())
    return known or len(labels)


@given(LABELS, st.data())
def test_draws_are_disjoint_cover_all_and_keep_proportions(labels: np.ndarray, data: st.DataObject) -> None:
    available = drawable(labels)
    first = data.draw(st.integers(0, available))
    second = data.draw(st.integers(0, available - first))
    parts = draw(labels, [first, second], seed=data.draw(st.integers(0, 5)))
    assert [len(part) for part in parts[:2]] == [first, second]
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(labels)))
    assert all(np.all(np.diff(part) > 0) for part in parts)

    left = np.arange(len(labels))
    for part in parts[:2]:
        for label in range(5):
            of_class, known = (labels[left] == label).sum(), (labels[left] >= 0).sum()
            if (labels >= 0).any() and known:
                assert abs((labels[part] == label).sum() - len(part) * of_class / known) < 1
        left = np.setdiff1d(left, part)


@given(LABELS, st.integers(0, 5))
def test_rows_without_a_label_are_not_drawn_while_others_have_one(labels: np.ndarray, seed: int) -> None:
    assume((labels >= 0).any())
    (part, _) = draw(labels, [drawable(labels)], seed)
    assert np.all(labels[part] >= 0)


@given(LABELS, st.integers(0, 5))
def test_the_same_seed_draws_the_same(labels: np.ndarray, seed: int) -> None:
    size = drawable(labels) // 2
    for one, other in zip(draw(labels, [size], seed), draw(labels, [size], seed), strict=True):
        assert one.tolist() == other.tolist()


def test_seed_and_purpose_matter() -> None:
    labels = np.arange(100) % 3
    draws = {
        tuple(draw(labels, [30], seed, purpose)[0].tolist()) for seed in (1, 2) for purpose in ("split", "test split")
    }
    assert len(draws) == 4


def test_every_row_has_the_same_chance() -> None:
    labels = np.array([0] * 8 + [1] * 2)
    hits = np.zeros(10)
    for seed in range(2000):
        hits[draw(labels, [5], seed)[0]] += 1
    assert np.all(abs(hits / 2000 - 0.5) < 0.05)


@pytest.mark.parametrize(
    ("counts", "size", "expected"),
    [
        ([50, 30, 20], 10, [5, 3, 2]),
        ([3, 3, 3], 4, [2, 1, 1]),
        # The second class has the larger remainder, and one row: it is left to learn from.
        ([10, 1], 9, [9, 0]),
        # Unless no other class can give more.
        ([1, 1], 1, [1, 0]),
        ([10, 1], 11, [10, 1]),
        ([0, 4], 2, [0, 2]),
    ],
)
def test_shares_are_proportional(counts: list[int], size: int, expected: list[int]) -> None:
    assert shares(np.array(counts), size).tolist() == expected


def test_drawing_more_rows_than_exist_is_refused() -> None:
    with pytest.raises(UserError, match="4 rows cannot be drawn out of 3"):
        draw(np.array([0, 1, 1, UNKNOWN]), [4], seed=1)


@given(st.integers(1, 10**6))
def test_validation_leaves_most_rows_to_learn_from(rows: int) -> None:
    size = validation_size(rows)
    assert 1 <= size <= max(1, rows // 4)
    assert size <= 1000
    assert size >= 50 or rows < 200


def rows(known: int, unknown: int = 0) -> np.ndarray:
    return np.concatenate([np.arange(known) % 2, np.full(unknown, UNKNOWN)]).astype(np.int64)


def sizes(labels: np.ndarray, validation: float | None = None, test: float | None = None) -> tuple[int, int, int]:
    parts = divide(labels, validation=validation, test=test, seed=42)
    return len(parts.train), len(parts.validation), len(parts.test)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (rows(100), (55, 25, 20)),
        (rows(300), (190, 50, 60)),
        (rows(20_000), (15_000, 1_000, 4_000)),
        (rows(1_000, 500), (1_200, 100, 200)),
        (rows(0, 1_000), (950, 50, 0)),
        (rows(0, 20), (15, 5, 0)),
        (rows(30, 1_000), (980, 50, 0)),
        (rows(150, 20), (103, 37, 30)),
    ],
)
def test_default_split_sizes(labels: np.ndarray, expected: tuple[int, int, int]) -> None:
    assert sizes(labels) == expected


def test_a_few_labels_stay_in_train() -> None:
    labels = rows(30, 1_000)
    parts = divide(labels, validation=None, test=None, seed=42)
    assert np.all(labels[parts.validation] == UNKNOWN)
    assert (labels[parts.train] != UNKNOWN).sum() == 30


def test_sizes_as_counts_and_as_shares() -> None:
    assert sizes(rows(100), validation=10, test=30) == (60, 10, 30)
    assert sizes(rows(100), validation=0.5, test=0.2) == (40, 40, 20)
    assert sizes(rows(100), validation=0, test=0) == (100, 0, 0)
    assert sizes(rows(0, 100), validation=10, test=5) == (85, 10, 5)


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 3))
def test_every_row_is_in_one_part(known: int, unknown: int, seed: int) -> None:
    labels = rows(known, unknown)
    parts = divide(labels, validation=None, test=None, seed=seed)
    together = np.concatenate([parts.train, parts.validation, parts.test])
    assert sorted(together.tolist()) == list(range(known + unknown))


@pytest.mark.parametrize(
    ("validation", "test", "message"),
    [
        (None, 101, "`test_size`: 101 rows are asked for and only 100 can be drawn"),
        (81, 20, "`validation_size`: 81 rows are asked for and only 80 can be drawn"),
        (-1, None, "`validation_size`: -1 is neither"),
        (1.5, None, "`validation_size`: 1.5 is neither"),
        (float("nan"), None, "`validation_size`: nan is neither"),
        (float("inf"), None, "`validation_size`: inf is neither"),
        ("10", None, "`validation_size`: '10' is neither"),
        (None, True, "`test_size`: True is neither"),
    ],
)
def test_invalid_sizes_are_refused(validation: Any, test: float | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        sizes(rows(100), validation, test)


CLASS_SETS = st.lists(st.none() | st.frozensets(st.integers(0, 3)), min_size=4, max_size=60)


@given(CLASS_SETS, st.permutations(range(16)), st.integers(0, 5))
def test_texts_with_several_classes_are_drawn_by_their_rarest(
    answers: list[frozenset[int] | None], order: list[int], seed: int
) -> None:
    sets, renumbered = LabelSets(4), LabelSets(4)
    for code in order:  # sets that occur earlier get other numbers
        renumbered.number(number for number in range(4) if code >> number & 1)
    parts = []
    for numbers in (sets, renumbered):
        labels = np.array([UNKNOWN if answer is None else numbers.number(answer) for answer in answers])
        rows = Split([str(row) for row in range(len(labels))], ["text"] * len(labels), labels)
        held = {"validation": 1, "test": 0.5 if (labels >= 0).sum() > 3 else 0}
        parts.append([part.ids for part in hold_out("mail", {"train": rows}, held, seed, label_sets=numbers)])
    assert parts[0] == parts[1]

    counts = {number: sum(number in answer for answer in answers if answer is not None) for number in range(4)}
    strata = [
        None if answer is None else min(answer, key=lambda one: (counts[one], one), default=4) for answer in answers
    ]
    known = [stratum for stratum in strata if stratum is not None]
    drawn = [strata[int(id)] for id in parts[0][2]]
    for stratum in set(known):
        if None not in strata:
            assert abs(drawn.count(stratum) - len(drawn) * known.count(stratum) / len(known)) < 1
