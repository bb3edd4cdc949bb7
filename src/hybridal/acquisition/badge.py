"""BADGE: candidates with large and diverse gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridal.acquisition import BOTH, Candidates, Selection
from hybridal.acquisition._geometry import apart, finite, plus_plus, products, squared_norms
from hybridal.acquisition._ranking import canonical
from hybridal.core.outputs import Floats


@dataclass(frozen=True)
class Gradients:
    """The gradients of the last layer: outer products of an error (C) and an embedding (E), kept in factored form.

    Inner products factor too, <a⊗h, b⊗g> = <a, b><h, g>, so N·(C+E) numbers are enough instead of N·C·E. The rows are
    visited in `order`; a place is a position in it.
    """

    errors: NDArray[np.float64]
    embeddings: Floats
    order: NDArray[np.intp]

    @classmethod
    def of(
        cls, probabilities: Floats, thresholds: Sequence[float], embeddings: Floats, order: NDArray[np.intp]
    ) -> Gradients:
        """Return the gradients with the predicted class, or classes, of each candidate as its label."""
        errors: NDArray[np.float64] = probabilities.astype(np.float64)
        if len(thresholds):
            errors -= probabilities >= np.array(thresholds)
        else:
            errors[np.arange(len(errors)), errors.argmax(axis=1)] -= 1.0
        return cls(errors, embeddings, order)

    def squared_norms(self) -> NDArray[np.float64]:
        return squared_norms(self.errors, self.order) * squared_norms(self.embeddings, self.order)

    def squared_distances_to(self, place: int, norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """The squared distances of all gradients to the one at this place of the order."""
        inner = products(self.errors, self.order, place) * products(self.embeddings, self.order, place)
        return apart(norms, inner, place)


@dataclass(frozen=True)
class Badge:
    """BADGE: k-means++ seeding over the last layer's gradients, with the predicted classes as labels.

    The score is the squared distance to the nearest gradient chosen before; for the first, its squared norm.

    >>> from hybridal.testing import FakeCandidates
    >>> twins_and_one = FakeCandidates(["a", "b", "c"], [[0.5, 0.5]] * 3, [[2.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    >>> Badge().select(twins_and_one, 2, np.random.default_rng(0))
    Selection(ids=('c', 'a'), scores=(2.0, 4.0))
    """

    name: ClassVar[str] = "badge"
    objectives: ClassVar[frozenset[str]] = BOTH

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:
        ids = candidates.ids
        if not len(ids) or n <= 0:
            return Selection((), ())
        order = canonical(ids)
        embeddings = finite(candidates.embeddings())  # first, because the same pass computes the probabilities
        gradients = Gradients.of(finite(candidates.probabilities()), candidates.thresholds(), embeddings, order)
        norms = gradients.squared_norms()
        places, distances = plus_plus(len(ids), n, lambda place: gradients.squared_distances_to(place, norms), rng)
        distances[0] = float(norms[places[0]])
        return Selection(tuple(str(ids[order[place]]) for place in places), tuple(distances))
