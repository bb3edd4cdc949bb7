"""How sure is a number that rests on texts? A bootstrap that draws the texts again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hybridal.randomness import stream

Array = NDArray[np.float64]

_RESAMPLES = 2000
_CHUNK = 100  # resamples at a time: memory stays small however many texts there are


def interval(
    values: Callable[[NDArray[np.int64]], Array], texts: int, purpose: str, seed: int
) -> tuple[float, float] | tuple[None, None]:
    """The middle 95% of a statistic over resamples of its texts; none where most resamples have no value.

    `values` is given, a row for each resample, how often each text was drawn, and answers a number or NaN for each.

    >>> low, high = interval(lambda times: times @ np.array([0.0, 1.0, 1.0, 2.0]) / 4, 4, "example", seed=0)
    >>> low < 1 < high
    True
    """
    drawn, chances = stream(seed, purpose), np.full(texts, 1 / texts)
    found = np.concatenate(
        [values(drawn.multinomial(texts, chances, size=_CHUNK)) for _ in range(_RESAMPLES // _CHUNK)]
    )
    known = found[~np.isnan(found)]
    if texts < 2 or len(known) < _RESAMPLES / 2:
        return None, None
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)
