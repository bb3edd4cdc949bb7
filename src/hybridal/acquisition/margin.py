"""The candidates nearest to another prediction: two classes are about as likely, or one is near its threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridal.acquisition import BOTH, Candidates, Selection
from hybridal.acquisition._geometry import chunks
from hybridal.acquisition._ranking import top
from hybridal.core.outputs import Floats


def margins(probabilities: Floats) -> NDArray[np.float64]:
    """The difference between the two highest probabilities of each row; the highest if there is only one class.

    >>> margins(np.array([[0.25, 0.5, 0.25], [0.0, 1.0, 0.0]])).tolist()
    [0.25, 1.0]
    """
    rows, classes = probabilities.shape
    found = np.empty(rows)
    for some in chunks(rows, classes):
        two = np.partition(probabilities[some].astype(np.float64), -min(2, classes), axis=1)[:, -2:]
        found[some] = two[:, -1] - two[:, :-1].sum(axis=1)
    return found


def threshold_margins(probabilities: Floats, thresholds: Sequence[float]) -> NDArray[np.float64]:
    """The smallest distance of a class's probability to its threshold, of each row.

    >>> threshold_margins(np.array([[0.75, 0.5], [0.5, 0.0]]), (0.5, 0.25)).tolist()
    [0.25, 0.0]
    """
    found: NDArray[np.float64] = np.abs(probabilities - np.array(thresholds)).min(axis=1).astype(np.float64)
    return found


@dataclass(frozen=True)
class Margin:
    """Takes the smallest margins; the score is minus the margin.

    With several labels per text, the margin is the smallest distance of a class's probability to its threshold.

    >>> from hybridal.testing import FakeCandidates
    >>> three = FakeCandidates(["a", "b", "c"], [[0.5, 0.5, 0.0], [0.375, 0.3125, 0.3125], [0.75, 0.25, 0.0]])
    >>> Margin().select(three, 2, np.random.default_rng(0))
    Selection(ids=('a', 'b'), scores=(0.0, -0.0625))
    """

    name: ClassVar[str] = "margin"
    objectives: ClassVar[frozenset[str]] = BOTH

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:  # noqa: ARG002
        probabilities, thresholds = candidates.probabilities(), candidates.thresholds()
        found = threshold_margins(probabilities, thresholds) if len(thresholds) else margins(probabilities)
        return top(candidates.ids, 0.0 - found, n)
