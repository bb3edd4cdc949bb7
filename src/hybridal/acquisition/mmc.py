"""MMC: candidates whose labels would reduce the loss most if the predicted ones were right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.acquisition import MULTI_LABEL, Candidates, Selection
from hybridal.acquisition._ranking import top


@dataclass(frozen=True)
class Mmc:
    """Maximum loss reduction with maximal confidence (Yang et al. 2009).

    The score is the sum over classes of how far the probability is from certainty of the predicted decision. The
    original predicts the number of classes of a text by a regression; here the decision thresholds do.

    >>> from hybridal.testing import FakeCandidates
    >>> two = FakeCandidates(["a", "b"], [[0.9, 0.1], [0.6, 0.3]], thresholds=(0.5, 0.25))
    >>> found = Mmc().select(two, 1, np.random.default_rng(0))
    >>> found.ids, round(found.scores[0], 3)  # (1 - 0.6) + (1 - 0.3)
    (('b',), 1.1)
    """

    name: ClassVar[str] = "mmc"
    objectives: ClassVar[frozenset[str]] = frozenset([MULTI_LABEL])

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:  # noqa: ARG002
        probabilities = candidates.probabilities().astype(np.float64)
        given = probabilities >= np.array(candidates.thresholds())
        return top(candidates.ids, np.where(given, 1 - probabilities, probabilities).sum(axis=1), n)
