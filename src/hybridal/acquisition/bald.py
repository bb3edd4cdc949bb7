"""BALD: candidates on which passes with different dropout masks disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridal.acquisition import BOTH, Candidates, Selection
from hybridal.acquisition._geometry import settled
from hybridal.acquisition._outcomes import outcomes
from hybridal.acquisition._ranking import top
from hybridal.acquisition.entropy import entropies
from hybridal.core.outputs import Floats


def disagreement(sampled: Floats) -> NDArray[np.float64]:
    """The mutual information of label and dropout mask, in nats: the entropy of the mean minus the mean entropy.

    >>> sure_but_split, unsure = [[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]
    >>> disagreement(np.stack([sure_but_split, unsure], axis=1)).round(4).tolist()
    [0.6931, 0.0]
    """
    own = np.mean([entropies(one) for one in sampled], axis=0)
    return settled(entropies(sampled.mean(axis=0, dtype=np.float64)) - own, np.ones(len(own)))


@dataclass(frozen=True)
class Bald:
    """Takes the highest mutual information over passes with dropout on (`bald:10` for ten passes).

    >>> from hybridal.testing import FakeCandidates
    >>> split, agreed = [[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]
    >>> two = FakeCandidates(["a", "b"], split, sampled=[split, agreed])
    >>> Bald(passes=2).select(two, 1, np.random.default_rng(0)).ids
    ('a',)
    """

    name: ClassVar[str] = "bald"
    objectives: ClassVar[frozenset[str]] = BOTH

    passes: int = 10

    def __post_init__(self) -> None:
        if self.passes < 2:
            raise ValueError(f"it needs at least 2 passes to disagree, not {self.passes}")

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:  # noqa: ARG002
        sampled = outcomes(candidates.sampled_probabilities(self.passes), candidates.thresholds())
        return top(candidates.ids, disagreement(sampled), n)
