"""How far do seeds alone spread? The noise floor that a margin is anchored to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybridal.evidence.statistics._numbers import Array, Numbers, numbers


@dataclass(frozen=True)
class SeedNoise:
    """The standard deviation from seed to seed over cells; None where no cell has two seeds.

    `left_out` counts the cells with fewer than two: they have no spread.
    """

    cells: int
    left_out: int
    mean: float | None
    median: float | None
    largest: float | None


def seed_noise(cells: Sequence[Numbers]) -> SeedNoise:
    """Each cell's standard deviation over its seeds (ddof = 1), averaged; the paper's floor of F1 is 0.0131.

    >>> seed_noise([[0.25, 0.75, 0.5], [0.5, 0.5], [0.9]])
    SeedNoise(cells=2, left_out=1, mean=0.125, median=0.125, largest=0.25)
    """
    checked = [numbers(values, f"cell {at}") for at, values in enumerate(cells, start=1)]
    spreads = [_spread(values) for values in checked if values.size > 1]
    left_out = len(checked) - len(spreads)
    if not spreads:
        return SeedNoise(0, left_out, None, None, None)
    return SeedNoise(len(spreads), left_out, float(np.mean(spreads)), float(np.median(spreads)), max(spreads))


def _spread(values: Array) -> float:
    """Equal values have no spread at all, also where their mean was rounded."""
    return 0.0 if np.all(values == values[0]) else float(values.std(ddof=1))
