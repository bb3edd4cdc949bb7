"""Do two annotators agree beyond chance? Cohen's κ, with a bootstrap interval over texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridal.app.insight.resampling import Array, interval


@dataclass(frozen=True)
class Kappa:
    """κ and its 95% interval on so many texts, and the share agreed on; None where it cannot be said."""

    kappa: float | None
    low: float | None
    high: float | None
    texts: int
    agreed: float | None


def kappa(one: Sequence[str], other: Sequence[str], seed: int = 0) -> Kappa:
    """κ of two annotators' classes, text by text.

    >>> found = kappa(["bug", "bug", "idea", "idea"], ["bug", "idea", "idea", "idea"])
    >>> found.kappa, found.texts, found.agreed
    (0.5, 4, 0.75)
    """
    texts = len(one)
    if not texts:
        return Kappa(None, None, None, 0, None)
    names = np.array(sorted({*one, *other}))
    mine = (np.array(one)[:, None] == names).astype(np.float64)
    theirs = (np.array(other)[:, None] == names).astype(np.float64)
    same = (mine * theirs).sum(axis=1)

    def values(times: NDArray[np.int64]) -> Array:
        # Only one class left on both sides: chance agrees always, and κ is 0 / 0.
        chance = ((times @ mine) * (times @ theirs)).sum(axis=1) / texts**2
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(chance < 1, (times @ same / texts - chance) / (1 - chance), np.nan))

    value, agreed = float(values(np.ones((1, texts), dtype=np.int64))[0]), float(same.mean())
    if np.isnan(value):
        return Kappa(None, None, None, texts, agreed)
    low, high = interval(values, texts, "kappa", seed)
    return Kappa(value, low, high, texts, agreed)
