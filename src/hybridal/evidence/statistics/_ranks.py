"""Ranks, with the mean rank for ties."""

from __future__ import annotations

import numpy as np

from hybridal.evidence.statistics._numbers import Array


def midranks(values: Array) -> Array:
    """From 1 on, smallest first; equal values share the mean of their ranks.

    >>> midranks(np.array([10.0, 30.0, 10.0, 20.0]))
    array([1.5, 4. , 1.5, 3. ])
    """
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[where], dtype=np.float64)
