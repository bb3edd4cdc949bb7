"""Distances between many points, computed in chunks to save memory; k-means and k-means++ seeding."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats
from hybridal.errors import UserError

NUMBERS_PER_CHUNK = 2**18  # 2 MiB in double precision, which fits the cache of a core


def chunks(count: int, per_row: int) -> Iterator[slice]:
    """Slices that cover `count` rows of `per_row` numbers, each within the chunk size.

    >>> list(chunks(5, NUMBERS_PER_CHUNK // 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, NUMBERS_PER_CHUNK // max(1, per_row))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


ROUNDING = 1e-12  # relative to the terms that were subtracted; smaller differences are rounding errors


def squared_distances(x: Floats, y: Floats) -> NDArray[np.float64]:
    """The squared distance of each row of x to each row of y, (M, K).

    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[3.0, 0.0]])).tolist()
    [[9.0], [16.0]]
    """
    x, y = x.astype(np.float64, copy=False), y.astype(np.float64, copy=False)
    norms = np.einsum("ij,ij->i", x, x)[:, None] + np.einsum("ij,ij->i", y, y)[None, :]
    return settled(norms - 2.0 * (x @ y.T), norms)


def squared_norms(rows: Floats, order: NDArray[np.intp]) -> NDArray[np.float64]:
    """The squared norms of the rows, in this order.

    >>> squared_norms(np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([1, 0])).tolist()
    [4.0, 25.0]
    """
    found = np.empty(len(order))
    for some in chunks(len(order), rows.shape[1]):
        piece = rows[order[some]].astype(np.float64)
        found[some] = np.einsum("ij,ij->i", piece, piece)
    return found


def products(rows: Floats, order: NDArray[np.intp], place: int) -> NDArray[np.float64]:
    """The inner products of the rows, in this order, with the row at this place of the order.

    >>> products(np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([1, 0]), 0).tolist()
    [4.0, 8.0]
    """
    one = rows[order[place]].astype(np.float64)
    found = np.empty(len(order))
    for some in chunks(len(order), rows.shape[1]):
        found[some] = rows[order[some]].astype(np.float64) @ one
    return found


def apart(norms: NDArray[np.float64], inner: NDArray[np.float64], place: int) -> NDArray[np.float64]:
    """Squared distances to the row at this place, from the squared norms of all and their inner products with it.

    >>> apart(np.array([4.0, 25.0]), np.array([4.0, 8.0]), 0).tolist()
    [0.0, 13.0]
    """
    sums = norms + norms[place]
    return settled(sums - 2.0 * inner, sums)


def settled(differences: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Set rounding errors to zero, in place, so that they decide no comparison.

    |a|² + |b|² - 2ab of equal points is not exactly zero and can be negative; so can differences of entropies.

    >>> settled(np.array([1e-16, -1e-16, 0.5]), np.array([1.0, 1.0, 1.0])).tolist()
    [0.0, 0.0, 0.5]
    """
    differences[differences < ROUNDING * scale] = 0.0
    return differences


def finite(rows: Floats) -> Floats:
    """Return the rows, or raise UserError if they are not finite."""
    if not np.isfinite(rows.sum(axis=-1, dtype=np.float64)).all():
        raise UserError(
            "The model's outputs for the candidates are not finite; training has diverged: lower the learning rate."
        )
    return rows


def plus_plus(
    count: int, k: int, distances_to: Callable[[int], NDArray[np.float64]], rng: np.random.Generator
) -> tuple[list[int], list[float]]:
    """Draw k of `count` points (at most all) by k-means++, with each point's squared distance to those before it.

    `distances_to(i)` returns the squared distances of all points to point i. The first point is drawn uniformly, with
    distance 0; so are points that coincide with drawn ones, once no others are left.

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
    # Rounding can raise the draw to the total itself, which is past the last point.
    draw = min(rng.random() * total, np.nextafter(total, 0.0))
    return int(np.searchsorted(cumulative, draw, side="right"))


KMEANS_ITERATIONS = 10
SAMPLE_PER_CLUSTER = 64  # enough points to place a centre


def clusters(points: Floats, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The k-means cluster, 0 to k-1, of each point; centres are computed on a sample if there are many points.

    >>> found = clusters(np.array([[0.0], [9.0], [1.0], [8.0]]), 2, np.random.default_rng(0))
    >>> bool(found[0] == found[2] != found[1] == found[3])
    True
    """
    sample = points
    if len(points) > SAMPLE_PER_CLUSTER * k:
        sample = points[np.sort(rng.choice(len(points), SAMPLE_PER_CLUSTER * k, replace=False))]
    sample = sample.astype(np.float64)
    norms = np.einsum("ij,ij->i", sample, sample)
    first, _ = plus_plus(len(sample), k, lambda i: apart(norms, sample @ sample[i], i), rng)
    centres = sample[first]
    before: NDArray[np.intp] | None = None
    for _ in range(KMEANS_ITERATIONS):
        nearest = assigned(sample, centres)
        if before is not None and (nearest == before).all():
            break
        centres, before = _means(sample, nearest, centres), nearest
    return assigned(points, centres)


def assigned(points: Floats, centres: Floats) -> NDArray[np.intp]:
    """The nearest centre of each point.

    >>> assigned(np.array([[0.0], [9.0]]), np.array([[8.0], [1.0]])).tolist()
    [1, 0]
    """
    nearest = np.empty(len(points), dtype=np.intp)
    for some in chunks(len(points), max(centres.shape)):
        nearest[some] = squared_distances(points[some], centres).argmin(axis=1)
    return nearest


def _means(points: Floats, nearest: NDArray[np.intp], centres: Floats) -> Floats:
    """The mean of each cluster; the centre of an empty cluster does not move."""
    from scipy.sparse import csr_array

    members = np.bincount(nearest, minlength=len(centres))
    belongs = csr_array((np.ones(len(points)), (nearest, np.arange(len(points)))), shape=(len(centres), len(points)))
    sums = np.asarray(belongs @ points)
    return np.where(members[:, None] > 0, sums / np.maximum(members, 1)[:, None], centres)
