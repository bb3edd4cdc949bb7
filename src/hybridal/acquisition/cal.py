"""CAL: candidates whose predictions differ from those of the labelled texts near them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridal.acquisition import BOTH, Candidates, Selection
from hybridal.acquisition._geometry import chunks, finite, settled, squared_distances
from hybridal.acquisition._outcomes import outcomes
from hybridal.acquisition._ranking import canonical, top
from hybridal.core.outputs import Floats
from hybridal.errors import UserError

FLOOR = float(np.finfo(np.float32).tiny)  # the smallest output of a single-precision softmax


def contrast(probabilities: Floats, around: Floats) -> NDArray[np.float64]:
    """The mean divergence KL(q || p), in nats, of the neighbours q (N, K, C) of each row p (N, C).

    >>> contrast(np.array([[0.5, 0.5]]), np.array([[[0.5, 0.5], [1.0, 0.0]]])).round(4).tolist()  # (0 + log 2) / 2
    [0.3466]
    """
    around = around.astype(np.float64)
    logs = np.log(np.maximum(probabilities.astype(np.float64), FLOOR))
    own = np.einsum("nkc,nkc->n", around, np.log(np.maximum(around, FLOOR)))
    cross = np.einsum("nkc,nc->n", around, logs)
    return settled((own - cross) / around.shape[1], np.ones(len(own)))


@dataclass(frozen=True)
class Cal:
    """Contrastive active learning: the highest mean divergence from the nearest labelled texts (ten by default).

    >>> from hybridal.testing import FakeCandidates
    >>> sides = FakeCandidates(
    ...     ["a", "b"], [[0.9, 0.1], [0.9, 0.1]], [[0.0], [5.0]],
    ...     labelled_probabilities=[[0.9, 0.1], [0.1, 0.9]], labelled_embeddings=[[0.0], [5.0]],
    ... )
    >>> Cal(neighbours=1).select(sides, 1, np.random.default_rng(0)).ids  # near a text with another prediction
    ('b',)
    """

    name: ClassVar[str] = "cal"
    objectives: ClassVar[frozenset[str]] = BOTH

    neighbours: int = 10

    def __post_init__(self) -> None:
        if self.neighbours < 1:
            raise ValueError(f"it needs at least 1 neighbour, not {self.neighbours}")

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:  # noqa: ARG002
        known, thresholds = finite(candidates.labelled_embeddings()), candidates.thresholds()
        if not len(known):
            raise UserError("The acquisition 'cal' needs labelled texts to compare with; label some first.")
        answers = outcomes(candidates.labelled_probabilities(), thresholds)
        points, probabilities = finite(candidates.embeddings()), outcomes(candidates.probabilities(), thresholds)
        order, known, k = canonical(candidates.ids), known.astype(np.float64), min(self.neighbours, len(known))
        scores = np.empty(len(order))
        for some in chunks(len(order), max(len(known), points.shape[1], k * probabilities.shape[1])):
            rows = order[some]
            nearest = np.argpartition(squared_distances(points[rows], known), k - 1, axis=1)[:, :k]
            scores[rows] = contrast(probabilities[rows], answers[nearest])
        return top(candidates.ids, scores, n)
