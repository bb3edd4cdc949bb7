"""Acquisition: which candidates to label next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from hybridal.core.outputs import Floats
from hybridal.registry import Registry


class Candidates(Protocol):
    """The candidates of one round and what the model says of them. Row i of every array belongs to `ids[i]`.

    Nothing is computed before it is asked for, and nothing twice.
    """

    @property
    def ids(self) -> Sequence[str]: ...

    def probabilities(self) -> Floats:
        """(N, C)"""

    def embeddings(self) -> Floats:
        """(N, E): what the last linear layer receives."""

    def sampled_probabilities(self, passes: int) -> Floats:
        """(passes, N, C), each pass with its own dropout mask."""

    def labelled_probabilities(self) -> Floats:
        """(L, C) for the labelled pool."""

    def labelled_embeddings(self) -> Floats:
        """(L, E) for the labelled pool."""


@dataclass(frozen=True)
class Selection:
    """The chosen ids, best first, with the score that each was chosen by."""

    ids: tuple[str, ...]
    scores: tuple[float, ...]


class Acquisition(Protocol):
    """Chooses n of the candidates. All randomness comes from `rng`."""

    name: ClassVar[str]

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection: ...


ACQUISITIONS: Registry[Acquisition] = Registry("acquisition", "select")
