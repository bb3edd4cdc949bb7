"""Checked numbers: what every statistic here begins with."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hybridal.errors import UserError

Array = NDArray[np.float64]
Numbers = Sequence[float] | NDArray[np.floating] | NDArray[np.integer]

NO_PAIRS = "there are no pairs"
ONE_PAIR = "one pair says nothing about the spread"
NO_SPREAD = "all differences are equal"


def numbers(values: Numbers, name: str) -> Array:
    """The values as an array of one axis; the first that is not finite is named.

    >>> numbers([1, 2.5], "F1")
    array([1. , 2.5])
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UserError(f"{name} must be numbers: {error}.") from error
    if array.ndim != 1:
        raise UserError(f"{name} must be one row of numbers, not an array of shape {array.shape}.")
    broken = np.flatnonzero(~np.isfinite(array))
    if broken.size:
        raise UserError(
            f"{name}: number {broken[0] + 1} of {array.size} is {array[broken[0]]}; mend it or leave it out."
        )
    return array


def number(value: float, name: str) -> float:
    """One finite number."""
    return float(numbers([value], name)[0])


def positive(value: float, name: str) -> float:
    """One finite number above 0."""
    if not number(value, name) > 0:
        raise UserError(f"{name} must be above 0, not {value}.")
    return float(value)


def not_negative(value: float, name: str) -> float:
    """One finite number from 0 on."""
    if not number(value, name) >= 0:
        raise UserError(f"{name} must be 0 or more, not {value}.")
    return float(value)


def inside(value: float, name: str) -> float:
    """A share strictly between 0 and 1, such as a level of significance."""
    if not 0 < number(value, name) < 1:
        raise UserError(f"{name} must lie between 0 and 1, not {value}.")
    return float(value)


def exact(value: float) -> Fraction:
    """The number as it prints, so that sums and products of table values tie when they look tied.

    >>> 0.3 - 0.1 >= 0.2, exact(0.3) - exact(0.1) >= exact(0.2)
    (False, True)
    """
    return Fraction(repr(float(value)))
