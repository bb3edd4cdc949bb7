"""Acquisition: which candidates to label next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from hybridal.core.components import answer_error, calling
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


def select(acquisition: Acquisition, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:
    """The candidates that an acquisition chooses; one that fails or breaks the rules is named.

    Args:
        acquisition: Chooses.
        candidates: What there is to choose from.
        n: How many to choose; all, where there are fewer.
        rng: The source of all randomness.

    Returns:
        The chosen ids with their scores.

    Raises:
        UserError: An acquisition of another package failed, or did not choose n ids of the candidates, each once.
    """
    with calling("acquisition", acquisition):
        found = acquisition.select(candidates, n, rng)
    if not isinstance(found, Selection):
        raise answer_error("acquisition", acquisition, f"must return a Selection, not {found!r:.60}")
    with calling("acquisition", acquisition):  # whatever stands for ids and scores there
        wanted, chosen = min(n, len(candidates.ids)), list(found.ids)
        known = set(candidates.ids)
        whole = len(chosen) == len(set(chosen)) == len(found.scores) == wanted and known.issuperset(chosen)
    if not whole:
        raise answer_error(
            "acquisition",
            acquisition,
            f"must choose {wanted} ids of the {len(known)} candidates, each once and with a score, but gave "
            f"{len(chosen)} ids, {len(known.intersection(chosen))} of them candidates, and {len(found.scores)} scores",
        )
    return found


ACQUISITIONS: Registry[Acquisition] = Registry("acquisition", "select")
