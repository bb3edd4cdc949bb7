"""How far macro-F1 falls behind accuracy on skewed classes, from the number of validation texts of each class.

The error in macro-F1 (1 minus macro-F1) is a multiple of the error in accuracy. Two classes fix that multiple: each
error counts against both, and against the rare one it counts for more. If both are mistaken for each other equally
often and p is the share of one, the multiple is 1 / (4 p (1 - p)); measured with 10% and 13% of the rare class, its
logarithm was 1.12 and 0.77 instead of 1.06 and 0.76. With more classes, errors are taken to involve each class in
proportion to the square root of its share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hybridal.errors import UserError

SPREAD = 0.2  # standard deviation of the logarithm between tasks of the same shares


def log_error_ratio(support: Sequence[int]) -> tuple[float, float]:
    """The logarithm of (error in macro-F1 / error in accuracy) that the texts per class suggest.

    Random counts of equally frequent classes differ too, so the shares are shrunk towards equal ones by the part of
    their variance that chance explains. The remaining uncertainty is in the standard deviation.

    Args:
        support: How many validation texts each class of the task has; they must be drawn at random.

    Returns:
        The mean of the logarithm and its standard deviation.

    Raises:
        UserError: If there are fewer than two classes, or no text.

    Example:
        >>> [[round(part, 2) for part in log_error_ratio(support)] for support in ((25, 25), (45, 5), (50, 0))]
        [[0.0, 0.21], [0.92, 0.4], [3.23, 1.41]]
    """
    counts, classes = np.asarray(support, dtype=np.float64), len(support)
    if classes < 2 or min(support) < 0 or not any(support):
        raise UserError(f"The texts per class must be those of two classes or more, not {list(support)}.")
    n, expected = counts.sum(), counts.mean()
    # The variance of the shares, relative to equal ones: that of the counts minus that of chance.
    excess = max(0.0, counts.var(ddof=1) / expected - 1) / expected
    shares = (1 + excess / (excess + 1 / expected) * (counts / expected - 1)) / classes
    exponent = 0.5 if classes > 2 else 0.0
    up, down = shares ** (exponent - 1), shares**exponent
    slope = (exponent - 1) * shares ** (exponent - 2) / up.sum() - exponent * up / down.sum()
    sampling = float(shares @ slope**2 - (shares @ slope) ** 2) / n
    undetected = (1 - exponent) / expected * math.sqrt(2 / (classes - 1))
    mean = math.log(up.mean() / down.sum())
    return mean, math.sqrt(max(0.0, sampling) + undetected**2 + SPREAD**2)
