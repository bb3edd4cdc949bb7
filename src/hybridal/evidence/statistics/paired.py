"""Do two schedules differ? The paired two-sided t-test."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hybridal.evidence.statistics._numbers import Numbers, inside
from hybridal.evidence.statistics._pairs import summary


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
    """The paired t-test, for numbers that belong together by position: the same cell, the same seed.

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

    from scipy.special import stdtr, stdtrit

    df = found.n - 1
    error = found.sd / math.sqrt(found.n)
    t = found.mean / error
    reach = float(stdtrit(df, (1 + confidence) / 2)) * error
    p = min(1.0, 2 * float(stdtr(df, -abs(t))))
    return PairedTest(found.n, found.mean, found.sd, t, df, p, found.mean - reach, found.mean + reach, confidence)
