"""Intervals for differences of two shares that come from different random labels."""

from __future__ import annotations

import numpy as np

from hybridal.measures.shares.estimators import Estimates


def difference(first: Estimates, second: Estimates) -> Estimates:
    """Return how much higher the first shares are, by the method of variance estimates recovery (MOVER).

    Each end combines the nearer end of one interval with the farther one of the other, as Newcombe (1998) does with
    two Wilson intervals. So a skewed share keeps its skewed interval in the difference.

    Args:
        first: The shares of some texts.
        second: The shares of other texts, with the same confidence.

    Returns:
        The differences, with the confidence of both.

    Example:
        >>> one, two = (Estimates(*(np.array([p + d]) for d in (0, -0.03, 0.04)), np.array([100])) for p in (0.3, 0.2))
        >>> found = difference(one, two)
        >>> found.value.round(2).tolist(), found.low.round(2).tolist(), found.high.round(2).tolist()
        ([0.1], [0.05], [0.15])
    """
    value = first.value - second.value
    low = value - np.hypot(first.value - first.low, second.high - second.value)
    high = value + np.hypot(first.high - first.value, second.value - second.low)
    return Estimates(value, np.maximum(low, -1.0), np.minimum(high, 1.0), first.labels + second.labels)
