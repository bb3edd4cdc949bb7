"""Do two schedules differ, and by no more than δ? The paired t-test, non-inferiority and equivalence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybridal.evidence.statistics.numbers import Numbers, Summary, inside, not_negative, summary


@dataclass(frozen=True)
class PairedTest:
    """A t-test of mean(new − reference) = 0, and the mean's confidence interval from `low` to `high`.

    Where there is no test, its numbers are None and `note` says why.
    """

    n: int
    mean: float | None
    sd: float | None
    t: float | None
    df: int | None
    p: float | None
    low: float | None
    high: float | None
    confidence: float
    note: str = ""


def paired_test(new: Numbers, reference: Numbers, confidence: float = 0.95) -> PairedTest:
    """The paired two-sided t-test, for numbers that belong together by position: the same cell, the same seed.

    Seeds of one cell are not independent draws of a task: pooled over cells, this answers for these cells only. For
    other tasks, give the mean of each cell, or ask `bootstrap`. Equal differences leave nothing to test with: a
    schedule that never switched *is* RETRAIN, and neither p = 1 nor p = 0 would be a finding.

    >>> found = paired_test([0.83, 0.90, 0.88, 0.66], [0.82, 0.88, 0.88, 0.65])
    >>> found.df, round(found.t, 4), round(found.p, 4), round(found.low, 4), round(found.high, 4)
    (3, 2.4495, 0.0917, -0.003, 0.023)
    >>> same = paired_test([0.83, 0.90], [0.83, 0.90])
    >>> same.mean, same.p, same.note
    (0.0, None, 'all differences are equal')
    """
    inside(confidence, "confidence")
    found = summary(new, reference)
    if found.mean is None or not found.sd:
        return PairedTest(found.n, found.mean, found.sd, None, None, None, None, None, confidence, found.note)
    from scipy import stats

    t = found.mean * math.sqrt(found.n) / found.sd
    reach = _reach(found, (1 - confidence) / 2)
    p = min(1.0, 2 * float(stats.t.sf(abs(t), found.n - 1)))
    low, high = found.mean - reach, found.mean + reach
    return PairedTest(found.n, found.mean, found.sd, t, found.n - 1, p, low, high, confidence)


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
    """
    asked, found = _asked(new, reference, margins, alpha)
    if found.mean is None or not found.sd:
        none = (None,) * len(asked)
        return NonInferiority(found.n, found.mean, None, None, asked, none, none, alpha, higher_is_better, found.note)
    sign = 1.0 if higher_is_better else -1.0
    gain = sign * found.mean
    worst = gain - _reach(found, alpha)
    p, passes = _p_values(found, gain, asked), tuple(margin >= -worst for margin in asked)
    smallest = max(0.0, -worst)
    return NonInferiority(found.n, found.mean, sign * worst, smallest, asked, p, passes, alpha, higher_is_better)


def equivalence(new: Numbers, reference: Numbers, margins: Sequence[float], alpha: float = 0.05) -> Equivalence:
    """Tests H0 "the means differ by δ or more, in either direction" for each δ (TOST); it passes where both sides do.

    >>> found = equivalence([0.82, 0.90, 0.87, 0.66], [0.82, 0.89, 0.88, 0.67], margins=[0.01, 0.02])
    >>> round(found.low, 4), round(found.high, 4), found.passes
    (-0.0138, 0.0088, (False, True))
    """
    asked, found = _asked(new, reference, margins, alpha)
    if found.mean is None or not found.sd:
        none = (None,) * len(asked)
        return Equivalence(found.n, found.mean, None, None, None, asked, none, none, alpha, found.note)
    reach = _reach(found, alpha)
    smallest = max(0.0, abs(found.mean) + reach)  # for α > 1/2 the reach is negative
    p = _p_values(found, -abs(found.mean), asked)  # the harder side decides
    passes = tuple(margin >= smallest for margin in asked)
    return Equivalence(found.n, found.mean, found.mean - reach, found.mean + reach, smallest, asked, p, passes, alpha)


def _asked(
    new: Numbers, reference: Numbers, margins: Sequence[float], alpha: float
) -> tuple[tuple[float, ...], Summary]:
    asked = tuple(not_negative(margin, "a margin δ") for margin in margins)
    inside(alpha, "alpha")
    return asked, summary(new, reference)


def _reach(found: Summary, alpha: float) -> float:
    """How far the one-sided bound lies from the mean."""
    from scipy import stats

    assert found.sd
    return float(stats.t.isf(alpha, found.n - 1)) * found.sd / math.sqrt(found.n)


def _p_values(found: Summary, gain: float, margins: tuple[float, ...]) -> tuple[float, ...]:
    """P(T ≥ t) of the t statistics of gain + δ, for all margins at once."""
    from scipy import stats

    assert found.sd
    t = (gain + np.array(margins)) / (found.sd / math.sqrt(found.n))
    return tuple(stats.t.sf(t, found.n - 1).tolist())
