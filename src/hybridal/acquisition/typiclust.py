"""TypiClust: typical candidates of clusters without labels."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridal.acquisition import BOTH, Candidates, Selection
from hybridal.acquisition._geometry import chunks, clusters, finite, squared_distances
from hybridal.acquisition._ranking import canonical
from hybridal.core.outputs import Floats

MAX_COMPARED = 4096  # members of a cluster to compare with each other; larger clusters are sampled


def typicality(points: Floats, neighbours: int) -> NDArray[np.float64]:
    """1 / (1 + the mean distance to the nearest neighbours): near 1 in dense regions, 0 for a single point.

    >>> typicality(np.array([[0.0], [1.0], [4.0]]), neighbours=1).tolist()
    [0.5, 0.5, 0.25]
    """
    k = min(neighbours, len(points) - 1)
    if k < 1:
        return np.zeros(len(points))
    found = np.empty(len(points))
    for some in chunks(len(points), max(points.shape)):
        distances = squared_distances(points[some], points)
        distances[np.arange(len(distances)), np.arange(some.start, some.stop)] = np.inf
        found[some] = np.sqrt(np.partition(distances, k - 1, axis=1)[:, :k]).mean(axis=1)
    return 1.0 / (1.0 + found)


@dataclass(frozen=True)
class TypiClust:
    """Clusters labelled texts and candidates, and takes the most typical text of the largest uncovered clusters.

    There are as many clusters as there will be labels, at most `most`. A cluster is covered if it has a labelled or
    chosen text; if all are, the least covered ones follow. The score is the typicality.

    >>> from hybridal.testing import FakeCandidates
    >>> line = [[0.0], [0.5], [20.0], [21.0], [22.0], [40.0]]
    >>> groups = FakeCandidates(list("abcdef"), [[0.5, 0.5]] * 6, line, labelled_embeddings=[[0.25], [40.0]])
    >>> TypiClust().select(groups, 1, np.random.default_rng(0))
    Selection(ids=('d',), scores=(0.5,))
    """

    name: ClassVar[str] = "typiclust"
    objectives: ClassVar[frozenset[str]] = BOTH

    most: int = 500
    neighbours: int = 20

    def __post_init__(self) -> None:
        if self.most < 1 or self.neighbours < 1:
            raise ValueError(f"it needs at least 1 cluster and 1 neighbour, not {self.most} and {self.neighbours}")

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:
        ids = candidates.ids
        if not len(ids) or n <= 0:
            return Selection((), ())
        order = canonical(ids)
        known, embeddings = finite(candidates.labelled_embeddings()), finite(candidates.embeddings())
        everything = _stacked(known, embeddings, order)
        points = everything[len(known) :]
        k = min(len(known) + n, self.most, len(everything))
        labels = clusters(everything, k, rng)
        covered = np.bincount(labels[: len(known)], minlength=k)
        own = labels[len(known) :]
        groups = np.split(np.argsort(own, kind="stable"), np.cumsum(np.bincount(own, minlength=k))[:-1])
        heap = [(int(covered[c]), -len(group), c) for c, group in enumerate(groups) if len(group)]
        heapq.heapify(heap)
        queues: dict[int, list[tuple[float, int]]] = {}
        picked: list[tuple[float, int]] = []
        while heap and len(picked) < n:
            times, size, cluster = heapq.heappop(heap)
            if cluster not in queues:
                queues[cluster] = self._queue(points, groups[cluster], rng)
            picked.append(queues[cluster].pop())
            if queues[cluster]:
                heapq.heappush(heap, (times + 1, size, cluster))
        return Selection(tuple(str(ids[order[-place]]) for _, place in picked), tuple(score for score, _ in picked))

    def _queue(self, points: Floats, group: NDArray[np.intp], rng: np.random.Generator) -> list[tuple[float, int]]:
        """The members of a cluster as (typicality, minus place), sorted so that `pop` gives the most typical."""
        compared: NDArray[np.int64] | slice = slice(None)
        if len(group) > MAX_COMPARED:
            compared = np.sort(rng.choice(len(group), MAX_COMPARED, replace=False))
        scores = np.zeros(len(group))
        scores[compared] = typicality(points[group[compared]], self.neighbours)
        return sorted(zip(scores.tolist(), (-group).tolist(), strict=True))


def _stacked(known: Floats, embeddings: Floats, order: NDArray[np.intp]) -> Floats:
    """The labelled texts, then the candidates in this order; one copy, made in chunks."""
    stacked = np.empty((len(known) + len(order), embeddings.shape[1]), dtype=embeddings.dtype)
    if len(known):
        stacked[: len(known)] = known
    for some in chunks(len(order), embeddings.shape[1]):
        stacked[len(known) :][some] = embeddings[order[some]]
    return stacked
