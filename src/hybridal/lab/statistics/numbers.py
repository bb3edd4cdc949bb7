"""Compare numbers as they are printed: values that look equal are equal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Numbers = Sequence[float] | NDArray[np.floating] | NDArray[np.integer]

# F1 and NLL carry some 53 bits, so differences that agree in the first 44 differ by rounding only.
_BITS = 44


def exact(value: float) -> Fraction:
    """Return the exact printed decimal, so that values that look equal in a table compare equal.

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


def differences(new: Numbers, reference: Numbers) -> tuple[Array, Array]:
    """Return new − reference, as computed and with rounding removed: equal differences are then equal, zeros are zero.

    >>> computed, clean = differences([0.3, 0.4], [0.2, 0.3])
    >>> bool(computed[0] == computed[1]), bool(clean[0] == clean[1])
    (False, True)
    """
    first, second = np.asarray(new, dtype=np.float64), np.asarray(reference, dtype=np.float64)
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
