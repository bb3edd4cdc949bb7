"""Paired numbers: their differences, free of the dust of rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hybridal.errors import UserError
from hybridal.evidence.statistics._numbers import NO_PAIRS, NO_SPREAD, ONE_PAIR, Array, Numbers, numbers

# F1 and NLL carry some 53 bits, so differences that agree in the first 44 differ by rounding only.
_BITS = 44


@dataclass(frozen=True)
class Summary:
    """The differences in three numbers; `sd` (ddof = 1) is None below two pairs and 0 where only rounding differs."""

    n: int
    mean: float | None
    sd: float | None

    @property
    def note(self) -> str:
        """Why no t statistic can be had; empty where there is one."""
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


def summary(new: Numbers, reference: Numbers) -> Summary:
    """Number, mean and standard deviation of new − reference.

    >>> summary([3, 5, 7], [1, 2, 3])
    Summary(n=3, mean=3.0, sd=1.0)
    """
    computed, clean = differences(new, reference)
    if computed.size == 0:
        return Summary(0, None, None)
    if np.all(clean == clean[0]):
        return Summary(computed.size, float(clean[0]), 0.0 if clean.size > 1 else None)
    return Summary(computed.size, float(computed.mean()), float(computed.std(ddof=1)))
