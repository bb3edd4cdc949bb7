"""Checked numbers and pairs of them: what every statistic here begins with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hybridal.errors import UserError

Array = NDArray[np.float64]
Numbers = Sequence[float] | NDArray[np.floating] | NDArray[np.integer]

NO_PAIRS = "there are no pairs"
ONE_PAIR = "one pair says nothing about the spread"
NO_SPREAD = "all differences are equal"

# F1 and NLL carry some 53 bits, so differences that agree in the first 44 differ by rounding only.
_BITS = 44


def numbers(values: Numbers, name: str) -> Array:
    """The values as an array of one axis; the first that is not finite is named."""
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


def _limited(holds: Callable[[float], bool], words: str) -> Callable[[float, str], float]:
    def check(value: float, name: str) -> float:
        if not holds(number(value, name)):
            raise UserError(f"{name} must {words}, not {value}.")
        return float(value)

    return check


positive = _limited(lambda value: value > 0, "be above 0")
not_negative = _limited(lambda value: value >= 0, "be 0 or more")
# A share, such as a level of significance.
inside = _limited(lambda value: 0 < value < 1, "lie between 0 and 1")


def exact(value: float) -> Fraction:
    """The number as it prints, so that sums and products of table values tie when they look tied.

    >>> 0.3 - 0.1 >= 0.2, exact(0.3) - exact(0.1) >= exact(0.2)
    (False, True)
    """
    return Fraction(repr(float(value)))


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (ddof = 1) of n numbers; None below one and below two."""

    n: int
    mean: float | None
    sd: float | None

    @property
    def note(self) -> str:
        """Why paired differences with this spread have no t statistic; empty where they have one."""
        if self.n < 2:
            return ONE_PAIR if self.n else NO_PAIRS
        return "" if self.sd else NO_SPREAD


def differences(new: Numbers, reference: Numbers) -> tuple[Array, Array]:
    """new − reference, as computed and with rounding removed: equal differences are then equal, zeros are zero.

    >>> computed, clean = differences([0.3, 0.4], [0.2, 0.3])
    >>> bool(computed[0] == computed[1]), bool(clean[0] == clean[1])
    (False, True)
    """
    first, second = numbers(new, "new"), numbers(reference, "reference")
    if first.size != second.size:
        raise UserError(f"new has {first.size} numbers and reference has {second.size}; pairs need as many of each.")
    computed = first - second
    scale = max(np.abs(first).max(initial=0), np.abs(second).max(initial=0))
    if scale == 0:
        return computed, computed
    grain = 2.0 ** (math.frexp(scale)[1] - _BITS)
    return computed, np.round(computed / grain) * grain + 0.0  # no minus zero


def summary(new: Numbers, reference: Numbers) -> Spread:
    """The spread of new − reference; 0 where only rounding differs."""
    computed, clean = differences(new, reference)
    if computed.size == 0:
        return Spread(0, None, None)
    if np.all(clean == clean[0]):
        return Spread(computed.size, float(clean[0]), 0.0 if clean.size > 1 else None)
    return Spread(computed.size, float(computed.mean()), float(computed.std(ddof=1)))
