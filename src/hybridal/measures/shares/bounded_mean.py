"""Intervals for the mean of bounded values from a random sample, also where values are rare or skewed.

A Bayesian bootstrap: the values get random weights, and the interval contains the weighted means between two quantiles.
Half an observation at each bound stands for what the sample may have missed. For values of 0 and 1 this is the Jeffreys
interval of a share, whose coverage is close to the stated one for every sample size; the t interval, which needs no
bounds, contains a share of 2% in less than half of all samples of 30. For large samples both are the same.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats
from hybridal.measures.error_tests import check_share
from hybridal.randomness import stream

RESAMPLES = 4000
AT_BOUNDS = 0.5  # observations at each bound


def mean_interval(
    values: Floats,
    low: Floats,
    high: Floats,
    confidence: float = 0.95,
    drawn: float = 0.0,
    at_bounds: Floats | float = AT_BOUNDS,
) -> NDArray[np.float64]:
    """Return an interval for the mean of each column; it contains the mean of the sample.

    Args:
        values: A random sample, (n, columns).
        low: The lowest value that each column can have.
        high: The highest one.
        confidence: The probability with which an interval contains the mean.
        drawn: The share of the population that was drawn, without replacement; intervals shrink accordingly.
        at_bounds: How many observations stand at each bound, for each column.

    Returns:
        Lower and upper ends, (columns, 2); the bounds themselves without a value.

    Raises:
        UserError: If the confidence is no share.

    Example:
        >>> from scipy.stats import beta
        >>> few = np.array([[1.0]] * 3 + [[0.0]] * 97)
        >>> mean_interval(few, np.zeros(1), np.ones(1)).round(2).tolist()
        [[0.01, 0.08]]
        >>> beta.ppf([0.025, 0.975], 3.5, 97.5).round(2).tolist()  # the Jeffreys interval
        [0.01, 0.08]
    """
    check_share(confidence, "The confidence")
    if not len(values):
        return np.stack([low, high], axis=1).astype(np.float64)
    weights, *bounds = _weights(len(values))
    at_low, at_high = (bound[:, None] * at_bounds / AT_BOUNDS for bound in bounds)
    total = weights.sum(axis=1)[:, None] + at_low + at_high
    means = (weights @ values + at_low * low + at_high * high) / total
    tail = (1 - confidence) / 2
    ends = np.quantile(means, [tail, 1 - tail], axis=0).T
    centre = values.mean(axis=0)
    ends = np.stack([np.minimum(ends[:, 0], centre), np.maximum(ends[:, 1], centre)], axis=1)
    found: NDArray[np.float64] = centre[:, None] + (ends - centre[:, None]) * np.sqrt(max(0.0, 1 - drawn))
    return found


@lru_cache(maxsize=8)
def _weights(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of n values and of both bounds in each resample, before they are made to sum to 1."""
    from scipy.stats import gamma

    rng = stream(0, "mean interval", n)
    # Quantiles in random order instead of random numbers: rare classes depend on the highest few.
    quantiles = gamma.ppf((np.arange(RESAMPLES) + 0.5) / RESAMPLES, AT_BOUNDS)
    at_low, at_high = rng.permutation(quantiles), rng.permutation(quantiles)
    return rng.standard_exponential((RESAMPLES, n)), at_low, at_high
