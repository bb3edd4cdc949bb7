"""Label cardinality inconsistency: candidates with an unusual number of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.acquisition import MULTI_LABEL, Candidates, Selection
from hybridal.acquisition._outcomes import outcomes
from hybridal.acquisition._ranking import top
from hybridal.acquisition.entropy import entropies


@dataclass(frozen=True)
class Cardinality:
    """Takes the candidates whose number of predicted classes is farthest from the mean number (Li and Guo 2013).

    The mean is that of the expected numbers of classes of all candidates. Ties, of which there are many, are broken by
    the entropy of all decisions.

    >>> from hybridal.testing import FakeCandidates
    >>> three = FakeCandidates(["a", "b", "c"], [[0.9, 0.1], [0.9, 0.9], [0.1, 0.8]], thresholds=(0.5, 0.5))
    >>> Cardinality().select(three, 1, np.random.default_rng(0)).ids
    ('b',)
    """

    name: ClassVar[str] = "cardinality"
    objectives: ClassVar[frozenset[str]] = frozenset([MULTI_LABEL])

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:  # noqa: ARG002
        probabilities, thresholds = candidates.probabilities().astype(np.float64), candidates.thresholds()
        if not len(probabilities):
            return Selection((), ())
        given = (probabilities >= np.array(thresholds)).sum(axis=1)
        uncertainty = entropies(outcomes(probabilities, thresholds))
        # At most 1e-3, so that the entropy only breaks ties.
        ties = 1e-3 * uncertainty / (probabilities.shape[1] * np.log(2))
        return top(candidates.ids, np.abs(given - probabilities.sum(axis=1).mean()) + ties, n)
