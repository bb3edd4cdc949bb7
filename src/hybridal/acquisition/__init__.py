"""Acquisition functions choose which candidates to label next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from hybridal.core.components import calling, result_error
from hybridal.core.outputs import Floats
from hybridal.errors import UserError
from hybridal.registry import Registry

SINGLE_LABEL, MULTI_LABEL = "single-label", "multi-label"


class Candidates(Protocol):
    """The unlabelled texts to choose from, with the model's outputs. Row i of every array belongs to `ids[i]`.

    Every array is computed on first use and then cached. `hybridal.testing.FakeCandidates` implements this over given
    arrays.

    Example:
        >>> from hybridal.testing import FakeCandidates
        >>> candidates = FakeCandidates(["a", "b"], probabilities=[[0.75, 0.25], [0.5, 0.5]])
        >>> list(candidates.ids), candidates.probabilities().max(axis=1).tolist()
        (['a', 'b'], [0.75, 0.5])
    """

    @property
    def ids(self) -> Sequence[str]:
        """The ids of the candidates, in no particular order."""

    def probabilities(self) -> Floats:
        """Predict the classes of each candidate.

        Returns:
            Class probabilities, (N, C). If a text may have several classes, each is independent of the others.
        """

    def thresholds(self) -> Sequence[float]:
        """Return the decision thresholds.

        Returns:
            If a text may have several classes: the probability from which each is given, (C,); () otherwise.
        """

    def embeddings(self) -> Floats:
        """Return the embedding of each candidate.

        Returns:
            The input of the last linear layer, (N, E).
        """

    def sampled_probabilities(self, passes: int) -> Floats:
        """Predict the classes of each candidate in several passes with dropout on.

        Args:
            passes: How many passes to make, each with its own dropout masks.

        Returns:
            Class probabilities, (passes, N, C).
        """

    def labelled_probabilities(self) -> Floats:
        """Predict the classes of the labelled texts.

        Returns:
            Class probabilities, (L, C).
        """

    def labelled_embeddings(self) -> Floats:
        """Return the embedding of each labelled text.

        Returns:
            The input of the last linear layer, (L, E).
        """


@dataclass(frozen=True)
class Selection:
    """The chosen ids with the scores that they were chosen by.

    Attributes:
        ids: The chosen ids, best first, as plain strings.
        scores: One finite score for each id; recorded, and shown as the reason for the choice.

    Example:
        >>> Selection(("b", "a"), (0.9, 0.5)).ids
        ('b', 'a')
    """

    ids: tuple[str, ...]
    scores: tuple[float, ...]


class Acquisition(Protocol):
    """Chooses the texts to label next.

    The loop calls `select` once at the end of each round, with a random subset of the unlabelled texts; learners also
    call it in `query`. The same candidates and generator must give the same choice, whatever the order of the
    candidates, so break ties by id. Check an implementation with `hybridal.testing.check_acquisition`.

    Attributes:
        name: The name in specs such as `bald:10`, in lower case with hyphens.
        objectives: Optional: what it can choose for, a frozenset of `single-label` (exactly one class per text) and
            `multi-label` (any number of classes); only the first by default.
        at_random: Optional: True if every candidate is equally likely to be chosen, whatever its text. Its labels then
            count as a random sample in estimates.

    Example:
        The texts that the model is most confident about:

        >>> from hybridal.testing import FakeCandidates
        >>> @dataclass(frozen=True)
        ... class Confident(Acquisition):
        ...     name: ClassVar[str] = "confident"
        ...     def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:
        ...         scores = candidates.probabilities().max(axis=1).tolist()
        ...         best = sorted(zip(scores, candidates.ids), key=lambda pair: (-pair[0], pair[1]))[:n]
        ...         return Selection(tuple(id for _, id in best), tuple(score for score, _ in best))
        >>> three = FakeCandidates(["a", "b", "c"], [[0.5, 0.5], [0.75, 0.25], [1.0, 0.0]])
        >>> Confident().select(three, 2, np.random.default_rng(0))
        Selection(ids=('c', 'b'), scores=(1.0, 0.75))
    """

    name: ClassVar[str]

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:
        """Choose candidates to label.

        Args:
            candidates: The texts to choose from, by id, with the model's outputs. They must not be modified.
            n: How many to choose.
            rng: The only source of randomness that may be used.

        Returns:
            Exactly n different ids of the candidates, or all of them if there are fewer, with a score each.
        """


def select(acquisition: Acquisition, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:
    """Call `Acquisition.select` and check its result; errors name the acquisition.

    Args:
        acquisition: The acquisition function.
        candidates: The texts to choose from.
        n: How many to choose; all, if there are fewer.
        rng: The source of all randomness.

    Returns:
        The chosen ids with their scores.

    Raises:
        UserError: An acquisition of another package failed, did not choose n ids of the candidates, each once, or gave
            a score that is not a finite number.
    """
    with calling("acquisition", acquisition):
        found = acquisition.select(candidates, n, rng)
    if not isinstance(found, Selection):
        raise result_error("acquisition", acquisition, f"must return a Selection, not {found!r:.60}")
    with calling("acquisition", acquisition):  # ids and scores may be of any type here
        wanted, chosen = min(n, len(candidates.ids)), list(found.ids)
        known = set(candidates.ids)
        whole = len(chosen) == len(set(chosen)) == len(found.scores) == wanted and known.issuperset(chosen)
        odd = [score for score in found.scores if not math.isfinite(score)]
    if not whole:
        raise result_error(
            "acquisition",
            acquisition,
            f"must choose {wanted} ids of the {len(known)} candidates, each once and with a score; the number "
            f"of ids is {len(chosen)}, of candidates among them {len(known.intersection(chosen))}, of scores "
            f"{len(found.scores)}",
        )
    if odd:
        raise result_error("acquisition", acquisition, f"must give finite numbers as scores, not {odd[0]!r}")
    return found


BOTH = frozenset([SINGLE_LABEL, MULTI_LABEL])
"""The objectives of an acquisition that supports all tasks."""

ACQUISITIONS: Registry[Acquisition] = Registry("acquisition", "select")


def check_objective(acquisition: Acquisition, multi_label: bool) -> None:
    """Refuse an acquisition that does not support the kind of labels of a task.

    Args:
        acquisition: The acquisition function.
        multi_label: Whether a text of the task may have several classes.

    Raises:
        UserError: It does not support this.

    Example:
        >>> from hybridal.acquisition.entropy import Entropy
        >>> check_objective(Entropy(), multi_label=True)
    """
    if _supports(acquisition, multi_label):
        return
    working = names_for(multi_label)
    texts = "may have several classes" if multi_label else "have exactly one class"
    raise UserError(
        f"The acquisition '{acquisition.name}' does not choose among texts that {texts}; use {', '.join(working)}.",
        field="acquisition",
    )


def names_for(multi_label: bool) -> list[str]:
    """Return the names of the acquisitions that support a kind of labels.

    Args:
        multi_label: Whether a text may have several classes.

    Example:
        >>> sorted({*names_for(multi_label=True)} - {*names_for(multi_label=False)})
        ['cardinality', 'mmc']
    """
    return [name for name in ACQUISITIONS.names() if _supports(ACQUISITIONS.find(name), multi_label)]


def _supports(acquisition: Any, multi_label: bool) -> bool:
    kind = MULTI_LABEL if multi_label else SINGLE_LABEL
    return kind in getattr(acquisition, "objectives", [SINGLE_LABEL])
