"""k-means++ seeding: points drawn in proportion to their squared distance from those drawn before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def plus_plus(
    count: int, k: int, distances_to: Callable[[int], NDArray[np.float64]], rng: np.random.Generator
) -> tuple[list[int], list[float]]:
    """k of `count` points (at most all), and the squared distance each had to the nearest before it.

    `distances_to(i)` gives the squared distances of all points to point i. The first point is drawn
    evenly and its distance is 0; so are points that lie on drawn ones, once no others are left.

    >>> line = np.array([0.0, 0.0, 10.0])
    >>> points, distances = plus_plus(3, 2, lambda i: (line - line[i]) ** 2, np.random.default_rng(0))
    >>> sorted(line[points].tolist()), distances
    ([0.0, 10.0], [0.0, 100.0])
    """
    points = [int(rng.integers(count))] if min(k, count) > 0 else []
    distances = [0.0] * len(points)
    nearest = np.full(count, np.inf)
    while len(points) < min(k, count):
        nearest = np.minimum(nearest, distances_to(points[-1]))
        nearest[points] = 0.0
        points.append(_draw(nearest, points, rng))
        distances.append(float(nearest[points[-1]]))
    return points, distances


def _draw(weights: NDArray[np.float64], taken: list[int], rng: np.random.Generator) -> int:
    cumulative = np.cumsum(weights)
    total = cumulative[-1]
    if total <= 0:
        return int(rng.choice(np.setdiff1d(np.arange(weights.size), taken)))
    # Rounding can lift the draw to the total itself, behind the last point.
    draw = min(rng.random() * total, np.nextafter(total, 0.0))
    return int(np.searchsorted(cumulative, draw, side="right"))
