"""Entropy sampling: candidates with the most uncertain prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridal.acquisition import BOTH, Candidates, Selection
from hybridal.acquisition._geometry import chunks
from hybridal.acquisition._outcomes import outcomes
from hybridal.acquisition._ranking import top
from hybridal.core.outputs import Floats


def entropies(probabilities: Floats) -> NDArray[np.float64]:
    """The Shannon entropy, in nats, of each row; 0 log 0 is 0.

    >>> entropies(np.array([[0.5, 0.5], [1.0, 0.0]])).round(4).tolist()
    [0.6931, 0.0]
    """
    found = np.empty(len(probabilities))
    for some in chunks(len(probabilities), probabilities.shape[1]):
        p = probabilities[some].astype(np.float64)
        # abs() turns the -0.0 of a certain prediction into 0.0
        found[some] = np.abs((p * np.log(p, where=p > 0, out=np.zeros_like(p))).sum(axis=1))
    return found


@dataclass(frozen=True)
class Entropy:
    """Takes the highest entropies of the predicted distribution; with several labels per text, of all decisions.

    >>> from hybridal.testing import FakeCandidates
    >>> three = FakeCandidates(["a", "b", "c"], [[0.9, 0.1], [0.5, 0.5], [0.7, 0.3]])
    >>> Entropy().select(three, 2, np.random.default_rng(0)).ids
    ('b', 'c')
    """

    name: ClassVar[str] = "entropy"
    objectives: ClassVar[frozenset[str]] = BOTH

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:  # noqa: ARG002
        return top(candidates.ids, entropies(outcomes(candidates.probabilities(), candidates.thresholds())), n)
