"""Do schedules differ, asked by ranks? The Wilcoxon signed-rank test, and Holm's correction over a family."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hybridal.errors import UserError
from hybridal.evidence.statistics._numbers import NO_PAIRS, Array, Numbers
from hybridal.evidence.statistics._pairs import differences
from hybridal.evidence.statistics._ranks import midranks

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
    p: float | None
    smallest_p: float | None
    exact: bool
    p_holm: float | None = None
    note: str = ""


def signed_rank(new: Numbers, reference: Numbers) -> SignedRank:
    """The two-sided test that new − reference is symmetric around 0; equal pairs are left out.

    >>> found = signed_rank([3, 5, 4, 8, 6], [1, 2, 5, 3, 6])
    >>> found.moved, found.plus, found.minus, found.p, found.smallest_p
    (4, 9.0, 1.0, 0.25, 0.125)
    >>> signed_rank([1, 2], [1, 2]).note
    'no pair differs'
    """
    _, clean = differences(new, reference)
    moved = clean[clean != 0]
    if not moved.size:
        return SignedRank(clean.size, 0, 0.0, 0.0, None, None, True, note="no pair differs" if clean.size else NO_PAIRS)
    ranks = midranks(np.abs(moved))
    plus, minus = float(ranks[moved > 0].sum()), float(ranks[moved < 0].sum())
    exact = moved.size <= _COUNTED
    p = _counted(ranks, min(plus, minus)) if exact else _approximated(ranks, min(plus, minus))
    return SignedRank(clean.size, moved.size, plus, minus, p, 2.0 ** (1 - moved.size), exact)


def signed_rank_family(comparisons: Mapping[str, tuple[Numbers, Numbers]]) -> dict[str, SignedRank]:
    """The test of each (new, reference) by name, with p corrected for there being several.

    >>> found = signed_rank_family({"a": ([3, 5, 4, 8], [1, 2, 3, 3]), "b": ([1, 2, 4, 8], [2, 4, 1, 3])})
    >>> [(name, test.p, test.p_holm) for name, test in found.items()]
    [('a', 0.125, 0.25), ('b', 0.625, 0.625)]
    """
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
    corrected: dict[int, float] = {}
    highest = 0.0
    known = [(p, at) for at, p in enumerate(p_values) if p is not None]
    for step, (p, at) in enumerate(sorted(known)):
        highest = max(highest, min(1.0, p * (len(p_values) - step)))
        corrected[at] = highest
    return tuple(corrected.get(at) for at in range(len(p_values)))


def _counted(ranks: Array, smaller: float) -> float:
    """2 P(W ≤ smaller) over all equally likely signs. Twice the ranks are whole numbers, also where they are tied."""
    doubled = np.rint(2 * ranks).astype(np.int64)
    share = np.zeros(int(doubled.sum()) + 1)
    share[0] = 1.0
    for rank in doubled:
        share[rank:] = (share[rank:] + share[:-rank]) / 2
        share[:rank] /= 2
    return min(1.0, 2 * float(share[: round(2 * smaller) + 1].sum()))


def _approximated(ranks: Array, smaller: float) -> float:
    """The same by the normal distribution, with the variance that the tied ranks have."""
    from scipy.special import ndtr

    deviation = math.sqrt(float((ranks**2).sum()) / 4)
    return min(1.0, 2 * float(ndtr((smaller - float(ranks.sum()) / 2) / deviation)))
