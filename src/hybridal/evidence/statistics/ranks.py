"""Asked by ranks: do schedules differ, by how much without a unit, and which columns move together?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hybridal.errors import UserError
from hybridal.evidence.statistics.numbers import NO_PAIRS, Array, Numbers, differences, numbers, summary

# Up to here the distribution is counted out, ties and all; beyond it the normal one is within 0.002 of it.
_COUNTED = 200


@dataclass(frozen=True)
class SignedRank:
    """`n` pairs of which `moved` differ; `plus` and `minus` are the rank sums of their differences by sign.

    No outcome of that many pairs has a p below `smallest_p`: five seeds alone never come below 0.0625. `p_holm` is p
    corrected for the family; `exact` says that p was counted out, not approximated.
    """

    n: int
    moved: int
    plus: float
    minus: float
    p: float | None = None
    smallest_p: float | None = None
    exact: bool = True
    p_holm: float | None = None
    note: str = ""


def signed_rank(new: Numbers, reference: Numbers) -> SignedRank:
    """Wilcoxon's two-sided test that new − reference is symmetric around 0; equal pairs are left out.

    >>> found = signed_rank([3, 5, 4, 8, 6], [1, 2, 5, 3, 6])
    >>> found.moved, found.plus, found.minus, found.p, found.smallest_p
    (4, 9.0, 1.0, 0.25, 0.125)
    """
    _, clean = differences(new, reference)
    ranks = _signed_ranks(clean)
    if not ranks.size:
        return SignedRank(clean.size, 0, 0.0, 0.0, note="no pair differs" if clean.size else NO_PAIRS)
    plus, minus = float(ranks[ranks > 0].sum()), -float(ranks[ranks < 0].sum())
    exact = ranks.size <= _COUNTED
    if exact:
        p = _counted(np.abs(ranks), min(plus, minus))
    else:
        from scipy import stats

        p = float(stats.wilcoxon(clean[clean != 0], method="approx").pvalue)
    return SignedRank(clean.size, ranks.size, plus, minus, p, 2.0 ** (1 - ranks.size), exact)


def _signed_ranks(differences: Array) -> Array:
    """The ranks of the differences by size, with their signs; those of zero are left out."""
    from scipy import stats

    moved = differences[differences != 0]
    return np.asarray(stats.rankdata(np.abs(moved)) * np.sign(moved))


def _counted(ranks: Array, smaller: float) -> float:
    """2 P(W ≤ smaller) over all equally likely signs, also of tied ranks, which scipy only approximates.

    Twice the ranks are whole numbers.
    """
    doubled = np.rint(2 * ranks).astype(np.int64)
    share = np.zeros(int(doubled.sum()) + 1)
    share[0] = 1.0
    for rank in doubled:
        share[rank:] = (share[rank:] + share[:-rank]) / 2
        share[:rank] /= 2
    return min(1.0, 2 * float(share[: round(2 * smaller) + 1].sum()))


def signed_rank_family(comparisons: Mapping[str, tuple[Numbers, Numbers]]) -> dict[str, SignedRank]:
    """The test of each (new, reference) by name, with p corrected for there being several."""
    tests = {name: signed_rank(*pair) for name, pair in comparisons.items()}
    corrected = holm([test.p for test in tests.values()])
    return {name: replace(test, p_holm=p) for (name, test), p in zip(tests.items(), corrected, strict=True)}


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """p values that may be compared with α although there are several: Holm's step-down method.

    A comparison without a p stays without, and still counts: the family was chosen before its data were seen.

    >>> holm([0.01, 0.04, 0.03]), holm([0.01, None])
    ((0.03, 0.06, 0.06), (0.02, None))
    """
    for p in p_values:
        if p is not None and not 0 <= p <= 1:
            raise UserError(f"A p value must lie in 0 to 1, not be {p}.")
    corrected: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for step, (p, at) in enumerate(sorted((p, at) for at, p in enumerate(p_values) if p is not None)):
        corrected[at] = highest = max(highest, min(1.0, p * (len(p_values) - step)))
    return tuple(corrected)


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
    g_z = None if d_z is None or found.n < 3 else d_z * small_sample_factor(found.n - 1)
    return Effect(found.n, d_z, g_z, cliffs_delta(new, reference), rank_biserial(clean), found.note)


def small_sample_factor(df: int) -> float:
    """Hedges' exact J: what to multiply d with to remove its bias; from 2 degrees of freedom on."""
    return math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2)


def cliffs_delta(new: Numbers, reference: Numbers) -> float | None:
    """P(new > reference) − P(new < reference) over all pairings of the two; their sizes may differ."""
    first, second = numbers(new, "new"), numbers(reference, "reference")
    if not first.size or not second.size:
        return None
    from scipy import stats

    pairings = first.size * second.size
    return (2 * float(stats.mannwhitneyu(first, second, method="asymptotic").statistic) - pairings) / pairings


def rank_biserial(differences: Numbers) -> float | None:
    """(R⁺ − R⁻) / (R⁺ + R⁻) of the signed ranks; differences of zero are left out, as the Wilcoxon test does."""
    ranks = _signed_ranks(numbers(differences, "differences"))
    return float(ranks.sum() / np.abs(ranks).sum()) if ranks.size else None


def spearman(table: Array) -> tuple[tuple[float | None, ...], ...]:
    """ρ between the columns of a table; a column that is constant has none, not even with itself.

    >>> spearman(np.array([[1.0, 4.0, 0.0], [2.0, 9.0, 0.0], [3.0, 25.0, 0.0]]))
    ((1.0, 1.0, None), (1.0, 1.0, None), (None, None, None))
    """
    import pandas as pd

    if table.ndim != 2:
        raise UserError(f"A table of signals has rows and columns, not the shape {table.shape}.")
    columns = {at: numbers(column, f"column {at}") for at, column in enumerate(table.T, start=1)}
    rho = pd.DataFrame(columns).corr("spearman").to_numpy().tolist()
    return tuple(tuple(None if math.isnan(value) else value for value in row) for row in rho)
