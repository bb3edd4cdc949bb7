"""Tables in Markdown, and the lower confidence bound of a mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """
    >>> table(["a", "b"], [["1", "2"]])
    '| a | b |\\n|---|---|\\n| 1 | 2 |'
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("|" + "|".join(line if line == "---" else f" {line} " for line in cells) + "|" for cells in lines)


def bounds(values: ArrayLike, confidence: float = 0.95) -> tuple[float, float, float]:
    """The mean with its one-sided lower and upper bounds, each with this confidence."""
    given = np.asarray(values, dtype=float)
    error = float(stats.t.ppf(confidence, len(given) - 1) * stats.sem(given))
    mean = float(given.mean())
    return mean, mean - error, mean + error


def interval(values: ArrayLike) -> tuple[float, float, float]:
    """The mean with its two-sided 95% interval.

    >>> [round(part, 2) for part in interval([0.1, 0.2, 0.3])]
    [0.2, -0.05, 0.45]
    """
    return bounds(values, 0.975)


def ratio(new: ArrayLike, reference: ArrayLike) -> tuple[float, float, float]:
    """The geometric mean of new / reference with its two-sided 95% interval; all must be positive.

    >>> [round(part, 2) for part in ratio([2.0, 8.0, 4.0], [1.0, 1.0, 2.0])]
    [3.17, 0.43, 23.18]
    """
    mean, low, high = np.exp(interval(np.log(np.asarray(new, dtype=float) / np.asarray(reference, dtype=float))))
    return float(mean), float(low), float(high)
