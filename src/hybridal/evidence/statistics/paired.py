"""Do two schedules differ, and by no more than δ? The paired t-test, non-inferiority and equivalence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybridal.evidence.statistics.numbers import Numbers, differences, inside, not_negative, summary


@dataclass(frozen=True)
class PairedTest:
    """A t-test of mean(new − reference) = 0, and the mean's confidence interval from `low` to `high`.

    Where there is no test, its numbers are None and `note` says why.
    """

    n: int
    mean: float | None
    sd: float | None
    t: float | None = None
    df: int | None = None
    p: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""


def paired_test(new: Numbers, reference: Numbers, confidence: float = 0.95) -> PairedTest:
    """The paired two-sided t-test, for numbers that belong together by position: the same cell, the same seed.

    Seeds of one cell are not independent draws of a task: pooled over cells, this answers for these cells only. For
    other tasks, give the mean of each cell, or ask `bootstrap`. Equal differences leave nothing to test with: a
    schedule that never switched *is* RETRAIN, and neither p = 1 nor p = 0 would be a finding.

    >>> found = paired_test([0.83, 0.90, 0.88, 0.66], [0.82, 0.88, 0.88, 0.65])
    >>> found.df, round(found.t, 4), round(found.p, 4), round(found.low, 4), round(found.high, 4)
    (3, 2.4495, 0.0917, -0.003, 0.023)
    """
    inside(confidence, "confidence")
    found = summary(new, reference)
    if found.note:
        return PairedTest(found.n, found.mean, found.sd, note=found.note)
    from scipy import stats

    test = stats.ttest_1samp(differences(new, reference)[0], 0)
    low, high = (float(end) for end in test.confidence_interval(confidence))
    return PairedTest(found.n, found.mean, found.sd, float(test.statistic), found.n - 1, float(test.pvalue), low, high)


@dataclass(frozen=True)
class Margins:
    """One comparison at several margins δ: `p` and `passes` have an entry for each, None where there is no test.

    `low` and `high` are the one-sided confidence bounds of mean(new − reference), and `smallest_margin` is the least δ
    that passes.
    """

    n: int
    mean: float | None
    margins: tuple[float, ...]
    p: tuple[float | None, ...]
    passes: tuple[bool | None, ...]
    low: float | None = None
    high: float | None = None
    smallest_margin: float | None = None
    higher_is_better: bool = True
    note: str = ""

    @property
    def bound(self) -> float | None:
        """The bound on the bad side."""
        return self.low if self.higher_is_better else self.high


def noninferiority(
    new: Numbers, reference: Numbers, margins: Sequence[float], alpha: float = 0.05, higher_is_better: bool = True
) -> Margins:
    """Tests H0 "new is worse than the reference by δ or more, in the mean" for each δ.

    F1 is better when higher, NLL when lower. A margin passes when the bound does not lie beyond it, which is
    p ≤ α. The paper's per-cell best is `np.maximum(retrain, finetune)` as reference: a hard one, because the larger of
    two noisy numbers is high by luck too.

    >>> found = noninferiority([0.82, 0.90, 0.87, 0.66], [0.82, 0.89, 0.88, 0.67], margins=[0.005, 0.02])
    >>> round(found.bound, 4), [round(p, 4) for p in found.p], found.passes
    (-0.0138, [0.3188, 0.0177], (False, True))
    """
    return _tested(new, reference, margins, alpha, (1 if higher_is_better else -1,))


def equivalence(new: Numbers, reference: Numbers, margins: Sequence[float], alpha: float = 0.05) -> Margins:
    """Tests H0 "the means differ by δ or more, in either direction" for each δ (TOST); it passes where both sides do.

    >>> found = equivalence([0.82, 0.90, 0.87, 0.66], [0.82, 0.89, 0.88, 0.67], margins=[0.01, 0.02])
    >>> round(found.low, 4), round(found.high, 4), found.passes
    (-0.0138, 0.0088, (False, True))
    """
    return _tested(new, reference, margins, alpha, (1, -1))


def _tested(
    new: Numbers, reference: Numbers, margins: Sequence[float], alpha: float, sides: tuple[int, ...]
) -> Margins:
    """One-sided tests; of several sides the harder one decides. Side 1 is that on which less is worse."""
    asked = tuple(not_negative(margin, "a margin δ") for margin in margins)
    inside(alpha, "alpha")
    found, higher = summary(new, reference), 1 in sides
    if found.mean is None or not found.sd:
        none = (None,) * len(asked)
        return Margins(found.n, found.mean, asked, none, none, higher_is_better=higher, note=found.note)
    from scipy import stats

    error, gain = found.sd / math.sqrt(found.n), min(side * found.mean for side in sides)
    reach = float(stats.t.isf(alpha, found.n - 1)) * error
    p = tuple(stats.t.sf((gain + np.array(asked)) / error, found.n - 1).tolist())
    smallest = max(0.0, reach - gain)  # 0 where even superiority passes
    passes = tuple(margin >= smallest for margin in asked)
    return Margins(found.n, found.mean, asked, p, passes, found.mean - reach, found.mean + reach, smallest, higher)
