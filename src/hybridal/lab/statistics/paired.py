"""Do two schedules differ, and by more than δ? How sure is a mean when whole cells are drawn again?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybridal.lab.statistics.numbers import Numbers, summary
from hybridal.randomness import stream


def paired_p(new: Numbers, reference: Numbers) -> float | None:
    """The p of the two-sided t-test of numbers that belong together by position: the same cell, the same seed.

    Seeds of one cell are not independent draws of a task: pooled over cells, this answers for these cells only. Equal
    differences leave nothing to test with: a schedule that never switched *is* RETRAIN, and neither p = 1 nor p = 0
    would be a finding.

    >>> round(paired_p([0.83, 0.90, 0.88, 0.66], [0.82, 0.88, 0.88, 0.65]), 4)
    0.0917
    """
    found = summary(new, reference)
    if found.mean is None or not found.sd:
        return None
    from scipy.special import stdtr

    return 2 * float(stdtr(found.n - 1, -abs(found.mean) / (found.sd / math.sqrt(found.n))))


@dataclass(frozen=True)
class Margins:
    """Whether new is no worse than the reference by more than δ, in the mean: `p` and `passes` have an entry a margin.

    `low` and `high` are the one-sided confidence bounds of mean(new − reference), and `equivalent` is the least δ at
    which both stay within it. All are None where pairs are too few or their differences all equal.
    """

    n: int
    mean: float | None
    p: tuple[float | None, ...]
    passes: tuple[bool | None, ...]
    low: float | None = None
    high: float | None = None
    equivalent: float | None = None


def noninferiority(new: Numbers, reference: Numbers, margins: Sequence[float], alpha: float = 0.05) -> Margins:
    """Tests H0 "new is lower than the reference by δ or more, in the mean" for each δ, and how far both differ (TOST).

    A margin passes when the lower bound does not lie beyond it, which is p ≤ α. The paper's per-cell best as reference
    is a hard one, because the larger of two noisy numbers is high by luck too.

    >>> found = noninferiority([0.82, 0.90, 0.87, 0.66], [0.82, 0.89, 0.88, 0.67], margins=[0.005, 0.02])
    >>> [round(p, 4) for p in found.p], found.passes
    ([0.3188, 0.0177], (False, True))
    >>> round(found.low, 4), round(found.high, 4), round(found.equivalent, 4)
    (-0.0138, 0.0088, 0.0138)
    """
    found = summary(new, reference)
    if found.mean is None or not found.sd:
        none = (None,) * len(margins)
        return Margins(found.n, found.mean, none, none)
    from scipy.special import stdtr, stdtrit

    error = found.sd / math.sqrt(found.n)
    reach = -float(stdtrit(found.n - 1, alpha)) * error
    p = tuple(stdtr(found.n - 1, -(found.mean + np.array(margins)) / error).tolist())
    passes = tuple(margin >= reach - found.mean for margin in margins)
    bounds = (found.mean - reach, found.mean + reach)
    return Margins(found.n, found.mean, p, passes, *bounds, reach + abs(found.mean))


def bootstrap_interval(cells: Sequence[Numbers], resamples: int = 4999, seed: int = 0) -> tuple[float, float] | None:
    """The 95% percentile interval of the mean over cells, each of which is the numbers of its seeds.

    Seeds of one cell resemble each other, so what is drawn again, with replacement, is the cell. None where all draws
    come to the same.

    >>> low, high = bootstrap_interval([[0.012, 0.008], [-0.004, 0.001], [0.003, 0.006], [0.010, 0.015]])
    >>> low < 0.0064 < high
    True
    """
    sums, sizes = np.array([np.sum(cell) for cell in cells]), np.array([len(cell) for cell in cells])
    drawn = stream(seed, "bootstrap").integers(len(cells), size=(resamples, len(cells)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    if np.ptp(means) <= 1e-14 * np.abs(means).max():
        return None
    low, high = np.quantile(means, (0.025, 0.975)).tolist()
    return low, high
