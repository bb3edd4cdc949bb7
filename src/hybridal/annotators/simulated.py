"""A model that labels with errors of a known rate and structure, for studies on texts whose labels are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridal.annotators import Example
from hybridal.core.outputs import UNKNOWN, Floats, Ints
from hybridal.errors import UserError
from hybridal.randomness import stream
from hybridal.registry import hint_or_list
from hybridal.tasks.task import Task

STRUCTURES = ("random", "class", "difficulty")
FOLDS = 5


class SimulatedModel:
    """Gives the known label of a text, or a wrong one.

    Args:
        error: The share of texts that it labels wrongly.
        structure: Which texts these are. `random`: any, with any wrong class. `class`: those of half of the classes, in
            which it is wrong twice as often, and mostly says one and the same other class. `difficulty`: those that a
            linear classifier of words finds hardest, with the class that this takes for the most probable wrong one.
        seed: Of all random choices.

    Raises:
        UserError: If an argument is invalid.

    Example:
        >>> from hybridal.testing.small import toy_task
        >>> task, model = toy_task(), SimulatedModel(0.25)
        >>> model.begin(task)
        >>> given, true = model.label(dict.fromkeys(task.train.ids)), task.answers(task.train.ids)
        >>> sum(given[id] != true[id] for id in true), len(true)
        (30, 120)
    """

    name = "simulated"

    def __init__(self, error: float = 0.2, structure: str = "random", seed: int = 0) -> None:
        if not 0 <= error < 1:
            raise UserError(f"The error of a simulated model must be a share from 0 to below 1, not {error:g}.")
        if structure not in STRUCTURES:
            raise UserError(f"There is no structure of errors '{structure}'; {hint_or_list(structure, STRUCTURES)}")
        self.error, self.structure, self.seed = error, structure, seed
        self._task: Task | None = None

    def begin(
        self,
        task: Task,
        folder: Path | None = None,  # noqa: ARG002
        notify: Callable[[str], object] | None = None,  # noqa: ARG002
    ) -> None:
        if task.multi_label or (task.train.labels == UNKNOWN).any():
            raise UserError("A simulated model needs the label of each text, and one label per text.")
        self._task = task
        self.__dict__.pop("_answers", None)

    def show(self, examples: Sequence[Example]) -> None:
        """A simulated model does not learn."""

    def label(self, texts: Mapping[Any, str]) -> Mapping[Any, str]:
        return {id: self._answers[id] for id in texts if id in self._answers}

    @cached_property
    def _answers(self) -> dict[str, str]:
        assert self._task is not None, "begin comes first"
        train, classes = self._task.train, self._task.classes
        likely = word_probabilities(train.texts, train.labels, len(classes)) if self.structure == "difficulty" else None
        numbers = noisy_labels(train.labels, len(classes), self.error, self.structure, self.seed, likely)
        return {id: classes[number] for id, number in zip(train.ids, numbers.tolist(), strict=True)}


def noisy_labels(
    labels: Ints, classes: int, error: float, structure: str, seed: int, likely: Floats | None = None
) -> NDArray[np.int64]:
    """Return labels of which a share is wrong.

    Args:
        labels: The true ones.
        classes: How many classes there are.
        error: The share of wrong ones.
        structure: One of `STRUCTURES`.
        seed: Of the random choices.
        likely: For `difficulty`: the probabilities of a classifier that has not learnt the text, (N, C).

    Example:
        >>> noisy_labels(np.array([0, 0, 1, 1]), 2, 0.5, "class", seed=1).tolist()
        [1, 1, 1, 1]
    """
    rng, n = stream(seed, f"noise, {structure}"), len(labels)
    wrong, others = round(error * n), labels.astype(np.int64).copy()
    if classes < 2 or not wrong:
        return others
    if structure == "difficulty":
        assert likely is not None
        rows = np.argsort(likely[np.arange(n), labels], kind="stable")[:wrong]
        masked = likely.copy()
        masked[np.arange(n), labels] = -1.0
        others[rows] = masked[rows].argmax(axis=1)
        return others
    order = rng.permutation(n)
    if structure == "class":
        hard = rng.permutation(classes)[: (classes + 1) // 2]
        order = np.concatenate([order[np.isin(labels[order], hard)], order[~np.isin(labels[order], hard)]])
        # Of the hard classes at most nine tenths are wrong: a model that is always wrong is noticed at once.
        most = round(0.9 * np.isin(labels, hard).sum())
        rows = np.concatenate([order[: min(wrong, most)], order[::-1][: max(0, wrong - most)]])
        over_called = int(rng.choice(np.setdiff1d(np.arange(classes), hard))) if classes > len(hard) else int(hard[0])
        own = rng.random(len(rows)) < 0.2  # some errors are of other kinds
        random = (labels[rows] + rng.integers(1, classes, len(rows))) % classes
        others[rows] = np.where(own | (labels[rows] == over_called), random, over_called)
        return others
    rows = order[:wrong]
    others[rows] = (labels[rows] + rng.integers(1, classes, wrong)) % classes
    return others


def word_probabilities(texts: Sequence[str], labels: Ints, classes: int) -> NDArray[np.float64]:
    """Return the probabilities of a linear classifier of words that has not learnt the text, (N, C)."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    words = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    found = np.zeros((len(labels), classes))
    fold = stream(0, "folds of words").permutation(len(labels)) % FOLDS
    for number in range(FOLDS):
        known, rest = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if len(np.unique(labels[known])) < 2:
            continue
        model = LogisticRegression(max_iter=200).fit(words[known], labels[known])
        found[np.ix_(rest, model.classes_)] = model.predict_proba(words[rest])
    return found
