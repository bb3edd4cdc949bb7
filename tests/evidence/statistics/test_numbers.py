import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from hybridal.errors import UserError
from hybridal.evidence.statistics import numbers as checked


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
