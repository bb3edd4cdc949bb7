"""How large is a difference, without a unit? Effect sizes of paired numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hybridal.evidence.statistics._numbers import Numbers, numbers
from hybridal.evidence.statistics._pairs import differences, summary
from hybridal.evidence.statistics._ranks import midranks


@dataclass(frozen=True)
class Effect:
    """Positive where new is larger. The standardised ones are None without spread, the ranked ones without data.

    `d_z` is the mean difference in standard deviations of the differences, `g_z` the same without the bias of small
    samples (None below three pairs). `cliffs_delta` is P(new > reference) − P(new < reference) over all pairings,
    whatever belongs together. `rank_biserial` is the favourable minus the unfavourable share of the signed ranks.
    """

    n: int
    d_z: float | None
    g_z: float | None
    cliffs_delta: float | None
    rank_biserial: float | None
    note: str = ""


def effect(new: Numbers, reference: Numbers) -> Effect:
    """All effect sizes of new against reference, pair by pair.

    >>> found = effect([3, 5, 4, 8], [1, 2, 5, 3])
    >>> round(found.d_z, 4), round(found.g_z, 4), found.cliffs_delta, found.rank_biserial
    (0.9, 0.6512, 0.625, 0.8)
    """
    _, clean = differences(new, reference)
    found = summary(new, reference)
    d_z = found.mean / found.sd if found.mean is not None and found.sd else None
    return Effect(
        n=found.n,
        d_z=d_z,
        g_z=None if d_z is None or found.n < 3 else d_z * small_sample_factor(found.n - 1),
        cliffs_delta=cliffs_delta(new, reference),
        rank_biserial=rank_biserial(clean),
        note=found.note,
    )


def small_sample_factor(df: int) -> float:
    """Hedges' exact J: what to multiply d with to remove its bias; from 2 degrees of freedom on.

    >>> round(small_sample_factor(10), 4)
    0.9227
    """
    return math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2)


def cliffs_delta(new: Numbers, reference: Numbers) -> float | None:
    """P(new > reference) − P(new < reference) over all pairings of the two; their sizes may differ.

    >>> cliffs_delta([1, 2, 3], [2, 2]), cliffs_delta([3, 4], [1, 2]), cliffs_delta([], [1])
    (0.0, 1.0, None)
    """
    first, second = numbers(new, "new"), np.sort(numbers(reference, "reference"))
    if not first.size or not second.size:
        return None
    below = np.searchsorted(second, first, side="left")
    above = second.size - np.searchsorted(second, first, side="right")
    return int((below - above).sum()) / (first.size * second.size)


def rank_biserial(differences: Numbers) -> float | None:
    """(R⁺ − R⁻) / (R⁺ + R⁻) of the signed ranks; differences of zero are left out, as the Wilcoxon test does.

    >>> rank_biserial([2, 3, -1, 0])
    0.6666666666666666
    """
    values = numbers(differences, "differences")
    moved = values[values != 0]
    if not moved.size:
        return None
    ranks = midranks(np.abs(moved))
    return float((ranks * np.sign(moved)).sum() / ranks.sum())
