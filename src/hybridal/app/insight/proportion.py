"""How sure a share of right answers is."""

from __future__ import annotations

import math

Z = 1.959963984540054  # 95% of a normal distribution lie within so many standard deviations


def wilson(right: int, n: int) -> tuple[float, float]:
    """The Wilson 95% interval of a proportion: unlike right ± error, it holds for few answers and for all right.

    >>> tuple(round(bound, 3) for bound in wilson(18, 20)), tuple(round(bound, 3) for bound in wilson(20, 20))
    ((0.699, 0.972), (0.839, 1.0))
    """
    if not n:
        return 0.0, 1.0
    share, weight = right / n, Z * Z / n
    middle = (share + weight / 2) / (1 + weight)
    reach = math.sqrt(share * (1 - share) * weight + weight * weight / 4) / (1 + weight)
    # At the ends the formula is exact, its rounding is not.
    return (0.0 if right == 0 else middle - reach), (1.0 if right == n else middle + reach)
