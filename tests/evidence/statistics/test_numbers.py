import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from hybridal.errors import UserError
from hybridal.evidence.statistics import numbers as checked
from hybridal.evidence.statistics.numbers import differences, summary

from .samples import Pair, pairs


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_named(bad: float) -> None:
    with pytest.raises(UserError, match=r"F1: number 2 of 3 is -?(nan|inf)"):
        checked.numbers([0.5, bad, 0.5], "F1")


def test_words_and_tables_are_refused() -> None:
    with pytest.raises(UserError, match="F1 must be numbers"):
        checked.numbers(["high"], "F1")  # type: ignore[list-item]
    with pytest.raises(UserError, match=r"shape \(2, 2\)"):
        checked.numbers(np.ones((2, 2)), "F1")
    assert checked.numbers([], "F1").size == 0


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (checked.positive, [0.1, 5], [0, -1, math.nan, math.inf]),
        (checked.not_negative, [0, 2], [-0.1, math.nan]),
        (checked.inside, [0.05, 0.999], [0, 1, -0.2, 1.5, math.nan]),
        (checked.number, [-3, 0], [math.nan, math.inf]),
    ],
)
def test_limits(check: Callable[[float, str], float], good: list[float], bad: list[float]) -> None:
    assert [check(value, "x") for value in good] == good
    for value in bad:
        with pytest.raises(UserError, match="x"):
            check(value, "x")


def test_a_number_is_what_it_prints() -> None:
    assert checked.exact(0.995) * checked.exact(0.86) == Fraction(8557, 10000)
    assert checked.exact(1e-4) == Fraction(1, 10000)
    assert checked.exact(np.float64(0.1)) == Fraction(1, 10)


@given(pairs)
def test_clean_differences_tie_where_whole_numbers_do(pair: Pair) -> None:
    new, reference = pair
    _, clean = differences(new, reference)
    whole = np.rint(new * 1000).astype(int) - np.rint(reference * 1000).astype(int)
    assert np.allclose(clean, whole / 1000, rtol=0, atol=1e-12)
    assert len(set(clean.tolist())) == len(set(whole.tolist()))
    assert (clean == 0).tolist() == (whole == 0).tolist()


def test_small_differences_of_small_numbers_are_kept() -> None:
    _, clean = differences([2e-20, 5e-20], [1e-20, 1e-20])
    assert clean == pytest.approx([1e-20, 4e-20], rel=1e-9)


def test_rounding_is_no_spread() -> None:
    found = summary([0.3, 0.4, 0.8], [0.2, 0.3, 0.7])
    assert (found.n, found.sd, found.note) == (3, 0.0, "all differences are equal")
    assert found.mean == pytest.approx(0.1)
    assert np.std([0.3 - 0.2, 0.4 - 0.3, 0.8 - 0.7], ddof=1) > 0


def test_few_pairs() -> None:
    none, one = summary([], []), summary([0.5], [0.25])
    assert (none.n, none.mean, none.sd, none.note) == (0, None, None, "there are no pairs")
    assert (one.n, one.mean, one.sd, one.note) == (1, 0.25, None, "one pair says nothing about the spread")
    assert summary([0.0, 0.0], [0.0, 0.0]).sd == 0.0


def test_pairs_need_partners() -> None:
    with pytest.raises(UserError, match="new has 2 numbers and reference has 1"):
        differences([1, 2], [1])
    with pytest.raises(UserError, match="reference: number 1 of 2 is nan"):
        differences([1, 2], [float("nan"), 1])
