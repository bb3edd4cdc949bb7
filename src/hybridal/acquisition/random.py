"""Random sampling, the baseline of all strategies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.acquisition import BOTH, Candidates, Selection
from hybridal.acquisition._ranking import canonical, top


@dataclass(frozen=True)
class Random:
    """Draws a random number for each candidate, in the order of ids, and takes the highest.

    >>> from hybridal.testing import FakeCandidates
    >>> three = FakeCandidates(["a", "b", "c"], [[0.9, 0.1], [0.5, 0.5], [0.7, 0.3]])
    >>> Random().select(three, 2, np.random.default_rng(0)).ids  # a 0.64, b 0.27, c 0.04
    ('a', 'b')
    """

    name: ClassVar[str] = "random"
    objectives: ClassVar[frozenset[str]] = BOTH
    at_random: ClassVar[bool] = True

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:
        draws = np.empty(len(candidates.ids))
        draws[canonical(candidates.ids)] = rng.random(len(candidates.ids))
        return top(candidates.ids, draws, n)
