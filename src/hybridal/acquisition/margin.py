"""The candidates whose two likeliest classes are nearest to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hybridal.acquisition import Candidates, Selection
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


@dataclass(frozen=True)
class Margin:
    """Takes the smallest margins; the score is minus the margin.

    >>> from hybridal.testing import FakeCandidates
    >>> three = FakeCandidates(["a", "b", "c"], [[0.5, 0.5, 0.0], [0.375, 0.3125, 0.3125], [0.75, 0.25, 0.0]])
    >>> Margin().select(three, 2, np.random.default_rng(0))
    Selection(ids=('a', 'b'), scores=(0.0, -0.0625))
    """

    name: ClassVar[str] = "margin"

    def select(self, candidates: Candidates, n: int, rng: np.random.Generator) -> Selection:  # noqa: ARG002
        return top(candidates.ids, 0.0 - margins(candidates.probabilities()), n)
