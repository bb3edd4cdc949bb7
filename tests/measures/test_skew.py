from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.measures.skew import log_error_ratio


def exact(share: float, error: float = 0.02) -> float:
    """The ratio of errors of two classes that are equally often taken for each other, from their F1."""
    f1 = [1 - error / (2 * of) for of in (share, 1 - share)]
    return math.log((1 - np.mean(f1)) / error)


@pytest.mark.parametrize("share", [0.5, 0.25, 0.1, 0.05])
def test_many_texts_of_two_classes_give_the_ratio_of_symmetric_errors(share: float) -> None:
    n = 100_000
    mean, deviation = log_error_ratio((round(share * n), n - round(share * n)))
    assert mean == pytest.approx(exact(share), abs=0.01)
    assert deviation == pytest.approx(0.2, abs=0.01)  # what differs between tasks of the same shares


@given(st.lists(st.integers(0, 60), min_size=2, max_size=40).filter(any))
@settings(max_examples=60, deadline=None)
def test_the_order_of_classes_does_not_matter(support: list[int]) -> None:
    mean, deviation = log_error_ratio(support)
    assert 0 <= mean + 1e-9 < 20
    assert 0.2 <= deviation < 20
    assert log_error_ratio(sorted(support)) == pytest.approx((mean, deviation))


def test_differences_that_chance_explains_are_no_skew() -> None:
    rng = np.random.default_rng(0)
    means = [log_error_ratio(rng.multinomial(50, [1 / 77] * 77).tolist())[0] for _ in range(100)]
    assert np.mean(means) < 0.05
    assert log_error_ratio([30, 5, 5, 5, 3, 2])[0] > 0.2


def test_more_texts_strengthen_the_skew() -> None:
    spreads = [log_error_ratio((9 * n, n))[1] for n in (1, 2, 3, 5, 50)]
    assert spreads == sorted(spreads, reverse=True)
    assert spreads[0] > 2 * spreads[-1]


def test_a_class_without_texts_may_be_rarer_than_any() -> None:
    missing, rare = log_error_ratio((20, 0)), log_error_ratio((18, 2))
    assert missing[0] > rare[0]
    assert missing[1] > rare[1]


@pytest.mark.parametrize("support", [(), (5,), (0, 0), (3, -1)])
def test_invalid_counts_are_refused(support: tuple[int, ...]) -> None:
    with pytest.raises(UserError, match="two classes or more"):
        log_error_ratio(support)
