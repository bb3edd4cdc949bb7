"""Least confidence: candidates whose predicted class is least probable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.acquisition import BOTH, Candidates, Selection
from hybridal.acquisition._ranking import top


@dataclass(frozen=True)
class LeastConfidence:
    """Takes the lowest probabilities of the predicted class; the score is 1 minus that probability.

    With several labels per text, it takes those of the least certain decision.

    >>> from hybridal.testing import FakeCandidates
    >>> three = FakeCandidates(["a", "b", "c"], [[0.5, 0.5, 0.0], [0.375, 0.3125, 0.3125], [0.75, 0.25, 0.0]])
    >>> LeastConfidence().select(three, 2, np.random.default_rng(0))
    Selection(ids=('b', 'a'), scores=(0.625, 0.5))
    """

    name: ClassVar[str] = "least-confidence"
    objectives: ClassVar[frozenset[str]] = BOTH

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:  # noqa: ARG002
        probabilities = candidates.probabilities()
        if len(candidates.thresholds()):
            uncertainty = np.minimum(probabilities, 1 - probabilities).max(axis=1)
            return top(candidates.ids, uncertainty, n)
        return top(candidates.ids, 1.0 - probabilities.max(axis=1).astype(np.float64), n)
