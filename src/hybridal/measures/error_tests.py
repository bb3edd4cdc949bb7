"""Exact tests of "more than a stated share is wrong", from a random sample: the base of every promise.

A small p-value says that this few errors are improbable if the share were above the stated one. There are two kinds of
populations: unlimited (new texts like these: binomial) and a list of known size (hypergeometric). And there are two
kinds of use. For a single look, the p-value is exact. If one looks after every label and stops when it is small, it
would reach any bound by luck; for repeated looks the p-value is the inverse of a test martingale, which is small at
*some* look with at most the stated probability (Ville's inequality). Without an error it takes about a tenth more
labels.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hybridal.errors import UserError

# The alternatives of the martingale, as parts of the rate that is tested, and their weights: mostly no error at all.
PARTS, WEIGHTS = (0.0, 0.125, 0.25, 0.5), (0.5, 1 / 6, 1 / 6, 1 / 6)


def check_share(value: float, name: str) -> None:
    """Raise UserError unless a value is a share strictly between 0 and 1."""
    if not 0 < value < 1:
        raise UserError(f"{name} must be a share between 0 and 1, such as 0.95 for 95%, not {value:g}.")


def rate_p_value(errors: ArrayLike, n: ArrayLike, rate: float, many_looks: bool = False) -> NDArray[np.float64]:
    """Test whether at least `rate` of all texts are wrong, by the errors among n random ones.

    Args:
        errors: How many of them are wrong; an array tests several samples.
        n: How many there are.
        rate: The share of wrong texts that the test shall rule out.
        many_looks: Whether the test is repeated while n grows.

    Returns:
        The p-values; one at most `1 - confidence` rules the rate out.

    Example:
        >>> rate_p_value([0, 1, 1], [149, 149, 236], 0.02).round(3).tolist()
        [0.049, 0.199, 0.049]
        >>> round(float(rate_p_value(0, 149, 0.02, many_looks=True)), 3)
        0.067
    """
    from scipy.special import bdtr, xlogy

    wrong, drawn = np.asarray(errors, dtype=np.int64), np.asarray(n, dtype=np.int64)
    if not many_looks:
        return np.asarray(bdtr(wrong, drawn, rate), dtype=np.float64)
    ratios = [xlogy(wrong, part) + (drawn - wrong) * (math.log1p(-part * rate) - math.log1p(-rate)) for part in PARTS]
    return _inverse_mean(np.stack(ratios))


def count_p_value(
    found: ArrayLike, n: ArrayLike, total: ArrayLike, population: int, many_looks: bool = False
) -> NDArray[np.float64]:
    """Test whether a list has at least `total` texts of a kind, by how many a random sample of it has.

    Args:
        found: How many texts of the kind are in the sample, which is drawn without replacement.
        n: The size of the sample.
        total: How many in the list the test shall rule out.
        population: The size of the list.
        many_looks: Whether the test is repeated while n grows.

    Returns:
        The p-values; 0 for a total that the sample excludes.

    Example:
        >>> count_p_value(0, [389, 450, 1000], 6, 1000).round(3).tolist()
        [0.052, 0.027, 0.0]
        >>> count_p_value(0, [389, 450, 1000], 6, 1000, many_looks=True).round(3).tolist()
        [0.064, 0.035, 0.0]
    """
    seen, drawn, of_kind = np.broadcast_arrays(*(np.asarray(part, dtype=np.int64) for part in (found, n, total)))
    impossible = of_kind > population - (drawn - seen)
    capped = np.minimum(of_kind, population - (drawn - seen))
    if many_looks:
        null = _log_ways(seen, drawn, np.maximum(capped, seen), population)
        ratios = [_log_ways(seen, drawn, np.floor(part * capped).astype(np.int64), population) - null for part in PARTS]
        p_values = _inverse_mean(np.stack(ratios))
    else:
        p_values = _count_cdf(seen, drawn, np.maximum(capped, seen), population)
    return np.asarray(np.where(impossible, 0.0, p_values), dtype=np.float64)


def labels_for(rate: float, confidence: float, errors: int = 0, many_looks: bool = False) -> int:
    """Return the size of the smallest random sample that rules a rate out, given how many errors it has.

    Args:
        rate: The share of wrong texts that shall be ruled out.
        confidence: How sure it shall be.
        errors: How many errors the sample has.
        many_looks: Whether the test is repeated while the sample grows.

    Raises:
        UserError: If rate or confidence is no share.

    Example:
        >>> labels_for(0.02, 0.95), labels_for(0.02, 0.95, errors=1), labels_for(0.02, 0.95, many_looks=True)
        (149, 236, 165)
    """
    check_share(rate, "The error limit")
    check_share(confidence, "The confidence")
    enough, level = errors + 1, 1 - confidence
    while rate_p_value(errors, enough, rate, many_looks) > level:
        enough *= 2
    low, high = enough // 2, enough
    while high - low > 1:
        middle = (low + high) // 2
        if middle >= errors and rate_p_value(errors, middle, rate, many_looks) <= level:
            high = middle
        else:
            low = middle
    return high


def _count_cdf(
    found: NDArray[np.int64], n: NDArray[np.int64], total: NDArray[np.int64], population: int
) -> NDArray[np.float64]:
    """The probability of at most `found` texts of a kind in a sample: the hypergeometric distribution function."""
    from scipy.special import logsumexp

    counts = np.arange(int(found.max(initial=0)) + 1).reshape(-1, *[1] * found.ndim)
    ways = np.where(
        (counts <= found) & (n - counts <= population - total), _log_ways(counts, n, total, population), -np.inf
    )
    every = _log_choose(np.full_like(n, population), n)
    return np.asarray(np.minimum(1.0, np.exp(logsumexp(ways, axis=0) - every)), dtype=np.float64)


def _log_ways(
    found: NDArray[np.int64], n: NDArray[np.int64], total: NDArray[np.int64], population: int
) -> NDArray[np.float64]:
    """The logarithm of how many samples have `found` texts of a kind: the likelihood up to a constant."""
    ways = _log_choose(total, found) + _log_choose(population - total, n - found)
    return np.where(total < found, -np.inf, ways)


def _log_choose(n: NDArray[np.int64], k: NDArray[np.int64]) -> NDArray[np.float64]:
    from scipy.special import gammaln

    k = np.minimum(k, n)  # the caller replaces what cannot be
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0), dtype=np.float64)


def _inverse_mean(log_ratios: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / (weighted mean of likelihood ratios), at most 1; the first axis is that of the weights."""
    from scipy.special import logsumexp

    weights = np.array(WEIGHTS).reshape(-1, *[1] * (log_ratios.ndim - 1))
    with np.errstate(over="ignore"):
        inverse = np.exp(-logsumexp(log_ratios, axis=0, b=weights))
    found: NDArray[np.float64] = np.minimum(1.0, inverse)
    return found
