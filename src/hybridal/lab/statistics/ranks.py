"""Rank tests, effect sizes and rank correlation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hybridal.lab.statistics.numbers import Array, Numbers, differences, summary

if TYPE_CHECKING:
    import pandas as pd

# Up to this many pairs the distribution is exact, ties included; beyond it the normal one is within 0.002.
_MAX_EXACT = 200


def signed_rank(new: Numbers, reference: Numbers) -> float | None:
    """Return the p of Wilcoxon's two-sided signed-rank test; None if no pair differs.

    Equal pairs are dropped. Five pairs can never give less than 0.0625.

    >>> signed_rank([3, 5, 4, 8, 6], [1, 2, 5, 3, 6])
    0.25
    """
    _, clean = differences(new, reference)
    ranks = _signed_ranks(clean)
    if not ranks.size:
        return None
    if ranks.size <= _MAX_EXACT:
        return _exact_p(ranks)
    from scipy import stats

    return float(stats.wilcoxon(clean[clean != 0], method="approx").pvalue)


def _signed_ranks(differences: Array) -> Array:
    """Return the ranks of the differences by size, with their signs; zero differences are left out."""
    moved = differences[differences != 0]
    _, at, counts = np.unique(np.abs(moved), return_inverse=True, return_counts=True)
    # Tied values share the mean of their ranks.
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[at] * np.sign(moved))


def _exact_p(ranks: Array) -> float:
    """2 P(W ≤ the smaller rank sum) over all equally likely signs, also of tied ranks, which scipy only approximates.

    Twice the ranks are whole numbers.
    """
    smaller = min(ranks[ranks > 0].sum(), -ranks[ranks < 0].sum())
    doubled = np.rint(2 * np.abs(ranks)).astype(np.int64)
    share = np.zeros(int(doubled.sum()) + 1)
    share[0] = 1.0
    for rank in doubled:
        share[rank:] = (share[rank:] + share[:-rank]) / 2
        share[:rank] /= 2
    return min(1.0, 2 * float(share[: round(2 * smaller) + 1].sum()))


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Correct p-values for multiple comparisons with Holm's step-down method.

    A comparison without a p stays None and still counts: the family was chosen before the data were seen.

    >>> holm([0.01, 0.04, 0.03]), holm([0.01, None])
    ((0.03, 0.06, 0.06), (0.02, None))
    """
    corrected: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for step, (p, at) in enumerate(sorted((p, at) for at, p in enumerate(p_values) if p is not None)):
        corrected[at] = highest = max(highest, min(1.0, p * (len(p_values) - step)))
    return tuple(corrected)


@dataclass(frozen=True)
class Effect:
    """Positive where new is larger. The standardised ones are None without spread, the ranked ones without data.

    `d_z` is the mean difference in standard deviations of the differences, `g_z` the same without the bias of small
    samples (None below three pairs). `cliffs_delta` is P(new > reference) − P(new < reference) over all combinations
    of values, not only the pairs. `rank_biserial` is the favourable minus the unfavourable share of the signed ranks.
    """

    d_z: float | None
    g_z: float | None
    cliffs_delta: float | None
    rank_biserial: float | None


def effect(new: Numbers, reference: Numbers) -> Effect:
    """All effect sizes of new against reference, pair by pair.

    >>> found = effect([3, 5, 4, 8], [1, 2, 5, 3])
    >>> round(found.d_z, 4), round(found.g_z, 4), found.cliffs_delta, found.rank_biserial
    (0.9, 0.6512, 0.625, 0.8)
    """
    _, clean = differences(new, reference)
    found, ranks = summary(new, reference), _signed_ranks(clean)
    d_z = found.mean / found.sd if found.mean is not None and found.sd else None
    g_z = None if d_z is None or found.n < 3 else d_z * small_sample_factor(found.n - 1)
    delta = float(np.sign(np.subtract.outer(new, reference)).mean()) if found.n else None
    biserial = float(ranks.sum() / np.abs(ranks).sum()) if ranks.size else None
    return Effect(d_z, g_z, delta, biserial)


def small_sample_factor(df: int) -> float:
    """Return Hedges' exact J, the factor that removes the bias of d; needs 2 degrees of freedom."""
    return math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2)


def spearman(table: pd.DataFrame) -> list[list[float | None]]:
    """ρ between the columns of a table; a column that is constant has none, not even with itself.

    >>> import pandas as pd
    >>> spearman(pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 9.0, 25.0], "c": [0.0, 0.0, 0.0]}))
    [[1.0, 1.0, None], [1.0, 1.0, None], [None, None, None]]
    """
    rho: list[list[float]] = table.corr("spearman").to_numpy().tolist()
    return [[None if math.isnan(value) else value for value in row] for row in rho]
