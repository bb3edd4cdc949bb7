"""Core-set: candidates that cover the others, by k-center greedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridal.acquisition import BOTH, Candidates, Selection
from hybridal.acquisition._geometry import apart, chunks, finite, products, squared_distances, squared_norms
from hybridal.acquisition._ranking import canonical
from hybridal.core.outputs import Floats


def nearest(points: Floats, order: NDArray[np.intp], centres: Floats) -> NDArray[np.float64]:
    """The squared distance of each point, in this order, to the nearest centre.

    >>> nearest(np.array([[0.0], [9.0]]), np.array([1, 0]), np.array([[1.0], [5.0]])).tolist()
    [16.0, 1.0]
    """
    centres = centres.astype(np.float64)
    found = np.empty(len(order))
    for some in chunks(len(order), max(centres.shape)):
        found[some] = squared_distances(points[order[some]], centres).min(axis=1)
    return found


@dataclass(frozen=True)
class Coreset:
    """k-center greedy: repeatedly takes the candidate that is farthest from all labelled and chosen texts.

    The score is that distance. If no text is labelled yet, the mean of the candidates is the first centre.

    >>> from hybridal.testing import FakeCandidates
    >>> line = FakeCandidates(["a", "b", "c"], [[0.5, 0.5]] * 3, [[1.0], [8.0], [9.0]], labelled_embeddings=[[0.0]])
    >>> Coreset().select(line, 2, np.random.default_rng(0))
    Selection(ids=('c', 'a'), scores=(9.0, 1.0))
    """

    name: ClassVar[str] = "coreset"
    objectives: ClassVar[frozenset[str]] = BOTH

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:  # noqa: ARG002
        ids = candidates.ids
        if not len(ids) or n <= 0:
            return Selection((), ())
        order = canonical(ids)
        points, centres = finite(candidates.embeddings()), finite(candidates.labelled_embeddings())
        if not len(centres):
            centres = points[order].mean(axis=0, keepdims=True, dtype=np.float64)
        distances, norms = nearest(points, order, centres), squared_norms(points, order)
        picked: list[str] = []
        scores: list[float] = []
        for _ in range(min(n, len(ids))):
            place = int(distances.argmax())  # the first of the farthest, in the order of ids
            picked.append(str(ids[order[place]]))
            scores.append(float(np.sqrt(distances[place])))
            distances = np.minimum(distances, apart(norms, products(points, order, place), place))
            distances[place] = -1.0  # not again, not even where all others lie on centres
        return Selection(tuple(picked), tuple(scores))
