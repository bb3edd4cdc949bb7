"""Texts with a model's predictions, of which some have labels of people, some of these drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats, Ints
from hybridal.core.provenance import RandomDraw

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """All texts that an estimate is about; row i of every array belongs to the i-th text.

    The predictions of a random label's text must come from a model that has not learnt this label. If one model has
    learnt some of them, give the predictions of several models (cross-fitting), and say which one counts for each text.

    Attributes:
        targets: 1 or 0 for each text and class as people labelled it, NaN where they did not, (N, C).
        answers: Whether the model gives each class to each text, (N, C): what the naive count counts.
        predicted: Probabilities of each class, by one or several models, (models, N, C).
        draws: The random draws, in their order.
        fold: For each text the model whose prediction is compared with its label, (N,).

    Example:
        >>> probabilities = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
        >>> targets = np.array([[1.0, 0.0], [np.nan, np.nan], [np.nan, np.nan]])
        >>> draw = RandomDraw(np.ones(3, dtype=bool), np.array([0]))
        >>> texts = LabelledTexts(targets, probabilities > 0.5, probabilities[None], [draw])
        >>> len(texts), texts.random_rows.tolist()
        (3, [0])
    """

    targets: Floats
    answers: Flags
    predicted: Floats
    draws: Sequence[RandomDraw]
    fold: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __post_init__(self) -> None:
        if not len(self.fold):
            object.__setattr__(self, "fold", np.zeros(len(self.targets), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def classes(self) -> int:
        return int(self.targets.shape[1])

    def of_class(self, number: int) -> LabelledTexts:
        """Return the same texts with one class; draws without the texts of which people left this class open."""
        known = ~np.isnan(self.targets[:, number])
        draws = [replace(draw, drawn=draw.drawn[known[draw.drawn]]) for draw in self.draws]
        return replace(self.of_classes(np.array([number])), draws=draws)

    def of_classes(self, numbers: Ints) -> LabelledTexts:
        """Return the same texts with some of the classes."""
        targets, answers = self.targets[:, numbers], self.answers[:, numbers]
        return replace(self, targets=targets, answers=answers, predicted=self.predicted[:, :, numbers])

    @property
    def random_rows(self) -> Ints:
        """The rows of all random labels, in the order of the draws."""
        return np.concatenate([np.empty(0, dtype=np.int64), *(draw.drawn for draw in self.draws)])

    def predicted_of(self, rows: Ints) -> Floats:
        """Return the predictions that are compared with the labels of these rows, (rows, C)."""
        found: Floats = self.predicted[self.fold[rows], rows]
        return found
