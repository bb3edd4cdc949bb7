from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.core.outputs import UNKNOWN
from hybridal.errors import UserError
from hybridal.tasks.divide import divide


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
def test_defaults(labels: np.ndarray, expected: tuple[int, int, int]) -> None:
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
    ("validation", "test", "said"),
    [
        (None, 101, "`test_size`: 101 rows are asked for and only 100 can be drawn"),
        (81, 20, "`validation_size`: 81 rows are asked for and only 80 can be drawn"),
        (-1, None, "`validation_size`: -1 is neither"),
        (1.5, None, "`validation_size`: 1.5 is neither"),
        (float("nan"), None, "`validation_size`: nan is neither"),
        (float("inf"), None, "`validation_size`: inf is neither"),
    ],
)
def test_sizes_that_cannot_be(validation: float | None, test: float | None, said: str) -> None:
    with pytest.raises(UserError, match=said):
        sizes(rows(100), validation, test)
