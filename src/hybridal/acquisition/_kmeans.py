"""k-means whose every draw comes from the given generator and whose sums do not depend on threads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridal.acquisition._chunks import chunks
from hybridal.acquisition._distance import apart, squared_distances
from hybridal.acquisition._seeding import plus_plus
from hybridal.core.outputs import Floats

ITERATIONS = 10
SAMPLE = 64  # points per cluster are enough to place its centre


def clusters(points: Floats, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """The cluster, 0 to k-1, of each point; the centres are found on a sample where there are many points.

    >>> found = clusters(np.array([[0.0], [9.0], [1.0], [8.0]]), 2, np.random.default_rng(0))
    >>> bool(found[0] == found[2] != found[1] == found[3])
    True
    """
    sample = points
    if len(points) > SAMPLE * k:
        sample = points[np.sort(rng.choice(len(points), SAMPLE * k, replace=False))]
    sample = sample.astype(np.float64)
    norms = np.einsum("ij,ij->i", sample, sample)
    first, _ = plus_plus(len(sample), k, lambda i: apart(norms, sample @ sample[i], i), rng)
    centres = sample[first]
    before: NDArray[np.intp] | None = None
    for _ in range(ITERATIONS):
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
    """The mean of each cluster; one that lost all its points stays where it was."""
    from scipy.sparse import csr_array

    members = np.bincount(nearest, minlength=len(centres))
    belongs = csr_array((np.ones(len(points)), (nearest, np.arange(len(points)))), shape=(len(centres), len(points)))
    sums = np.asarray(belongs @ points)
    return np.where(members[:, None] > 0, sums / np.maximum(members, 1)[:, None], centres)
