"""Do two schedules differ, and by more than δ? How sure is a mean when whole cells are drawn again?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybridal.lab.statistics.numbers import Numbers, summary
from hybridal.randomness import stream


def paired_p(new: Numbers, reference: Numbers) -> float | None:
    """Return the p of the two-sided paired t-test; numbers at one position are of the same cell and seed.

    Seeds of one cell are not independent draws of a task: pooled over cells, the result holds for these cells only.
    None if all differences are equal: a schedule that never switched *is* RETRAIN, so neither p = 1 nor p = 0 is a
    finding.

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
    """Result of a non-inferiority test of the mean; None entries if pairs are too few or all differences are equal.

    Attributes:
        n: Number of pairs.
        mean: Mean of new − reference.
        p: One p-value per margin δ.
        passes: Per margin, whether new is worse by less than δ.
        low: One-sided lower confidence bound of the mean.
        high: One-sided upper confidence bound of the mean.
        equivalent: The smallest δ that contains both bounds.
    """

    n: int
    mean: float | None
    p: tuple[float | None, ...]
    passes: tuple[bool | None, ...]
    low: float | None = None
    high: float | None = None
    equivalent: float | None = None


def noninferiority(new: Numbers, reference: Numbers, margins: Sequence[float], alpha: float = 0.05) -> Margins:
    """Test H0 "new is lower than the reference by δ or more, in the mean" for each δ; with equivalence bounds (TOST).

    A margin passes if the lower bound is not beyond it, which is p ≤ α. The paper's per-cell best is a hard reference,
    because the larger of two noisy numbers is also high by chance.

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
    """Return the 95% percentile bootstrap interval of the mean over cells; a cell holds the numbers of its seeds.

    Whole cells are resampled, because seeds of one cell resemble each other. None if all resamples have the same mean.

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
