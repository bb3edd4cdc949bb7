"""Is one schedule no worse than another by more than δ? One-sided tests, and two of them for equivalence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybridal.evidence.statistics._numbers import Numbers, inside, not_negative
from hybridal.evidence.statistics._pairs import Summary, summary


@dataclass(frozen=True)
class NonInferiority:
    """One comparison at several margins; `p` and `passes` have an entry for each, None where there is no test.

    `bound` is the one-sided confidence bound of mean(new − reference) on its bad side: the lower one where higher is
    better, else the upper one. `smallest_margin` is the least δ that passes, 0 where even superiority does.
    """

    n: int
    mean: float | None
    bound: float | None
    smallest_margin: float | None
    margins: tuple[float, ...]
    p: tuple[float | None, ...]
    passes: tuple[bool | None, ...]
    alpha: float
    higher_is_better: bool
    note: str = ""


@dataclass(frozen=True)
class Equivalence:
    """Two one-sided tests at several margins; `low` and `high` enclose the mean with confidence 1 − 2α."""

    n: int
    mean: float | None
    low: float | None
    high: float | None
    smallest_margin: float | None
    margins: tuple[float, ...]
    p: tuple[float | None, ...]
    passes: tuple[bool | None, ...]
    alpha: float
    note: str = ""


def noninferiority(
    new: Numbers, reference: Numbers, margins: Sequence[float], alpha: float = 0.05, higher_is_better: bool = True
) -> NonInferiority:
    """Tests H0 "new is worse than the reference by δ or more, in the mean" for each δ.

    F1 is better when higher, NLL when lower. A margin passes when the bound does not lie beyond it, which is
    p ≤ α. The paper's per-cell best is `np.maximum(retrain, finetune)` as reference: a hard one, because the larger of
    two noisy numbers is high by luck too.

    >>> found = noninferiority([0.82, 0.90, 0.87, 0.66], [0.82, 0.89, 0.88, 0.67], margins=[0.005, 0.02])
    >>> round(found.bound, 4), [round(p, 4) for p in found.p], found.passes
    (-0.0138, [0.3188, 0.0177], (False, True))
    >>> round(found.smallest_margin, 4)
    0.0138
    """
    asked = _margins(margins)
    inside(alpha, "alpha")
    found = summary(new, reference)
    if found.mean is None or not found.sd:
        none = (None,) * len(asked)
        return NonInferiority(found.n, found.mean, None, None, asked, none, none, alpha, higher_is_better, found.note)
    sign = 1.0 if higher_is_better else -1.0
    gain = sign * found.mean
    worst = gain - _reach(found, alpha)
    return NonInferiority(
        n=found.n,
        mean=found.mean,
        bound=sign * worst,
        smallest_margin=max(0.0, -worst),
        margins=asked,
        p=_p_values(found, gain, asked),
        passes=tuple(margin >= -worst for margin in asked),
        alpha=alpha,
        higher_is_better=higher_is_better,
    )


def equivalence(new: Numbers, reference: Numbers, margins: Sequence[float], alpha: float = 0.05) -> Equivalence:
    """Tests H0 "the means differ by δ or more, in either direction" for each δ (TOST); it passes where both sides do.

    >>> found = equivalence([0.82, 0.90, 0.87, 0.66], [0.82, 0.89, 0.88, 0.67], margins=[0.01, 0.02])
    >>> round(found.low, 4), round(found.high, 4), found.passes
    (-0.0138, 0.0088, (False, True))
    """
    asked = _margins(margins)
    inside(alpha, "alpha")
    found = summary(new, reference)
    if found.mean is None or not found.sd:
        none = (None,) * len(asked)
        return Equivalence(found.n, found.mean, None, None, None, asked, none, none, alpha, found.note)
    reach = _reach(found, alpha)
    smallest = max(0.0, abs(found.mean) + reach)  # for α > 1/2 the reach is negative
    p = _p_values(found, -abs(found.mean), asked)  # the harder side decides
    passes = tuple(margin >= smallest for margin in asked)
    return Equivalence(found.n, found.mean, found.mean - reach, found.mean + reach, smallest, asked, p, passes, alpha)


def _margins(margins: Sequence[float]) -> tuple[float, ...]:
    return tuple(not_negative(margin, "a margin δ") for margin in margins)


def _reach(found: Summary, alpha: float) -> float:
    """How far the one-sided bound lies from the mean."""
    from scipy.special import stdtrit

    assert found.sd
    return float(stdtrit(found.n - 1, 1 - alpha)) * found.sd / math.sqrt(found.n)


def _p_values(found: Summary, gain: float, margins: tuple[float, ...]) -> tuple[float, ...]:
    """P(T ≥ t) of the t statistics of gain + δ, for all margins at once."""
    from scipy.special import stdtr

    assert found.sd
    t = (gain + np.array(margins)) / (found.sd / math.sqrt(found.n))
    return tuple(stdtr(found.n - 1, -t).tolist())
