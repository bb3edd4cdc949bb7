"""How the text of each label was drawn: at random, chosen for a reason, or brought along.

Only labels of texts drawn at random say something about all texts without a model of how the others were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Ints

RANDOM = 0
"""The number of the first random draw. Numbers of draws count from here; all other origins are negative."""
NOT_DRAWN = -1
CHOSEN = -2
BROUGHT = -3

NAMES = {CHOSEN: "chosen", BROUGHT: "brought"}


@dataclass(frozen=True)
class RandomDraw:
    """One random draw: which texts could be drawn, and which labelled texts were.

    Every text of the frame had the same probability. Texts that were labelled before the draw are not in its frame.

    Attributes:
        frame: Whether each text could be drawn.
        drawn: The rows that were drawn and have a label.
        covers: Which texts were in the frame or labelled before; None: all of them. Others were added later, or the
            draw was not about them.

    Example:
        >>> draw = RandomDraw(frame=np.array([True, True, False, True, True]), drawn=np.array([3]))
        >>> draw.probability
        0.25
    """

    frame: NDArray[np.bool_]
    drawn: Ints
    covers: NDArray[np.bool_] | None = None

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Which texts the draw says something about."""
        return np.ones(len(self.frame), dtype=bool) if self.covers is None else self.covers

    @property
    def probability(self) -> float:
        """The probability with which each text of the frame was drawn and labelled."""
        return len(self.drawn) / max(1, int(self.frame.sum()))


def random_draws(origins: Ints, known_from: Ints, there: NDArray[np.bool_]) -> list[RandomDraw]:
    """Return all random draws of which a text has a label, in their order.

    Args:
        origins: Per text, how it was drawn: the number of a random draw, or a negative number of this module.
        known_from: Per text, the number of the first draw that began when its label was known; a high number if it has
            none.
        there: Whether each text belongs to the pool; texts that were left out do not.

    Example:
        >>> origins, known_from = np.array([0, CHOSEN, 1, NOT_DRAWN]), np.array([1, 1, 2, 9])
        >>> [draw.frame.tolist() for draw in random_draws(origins, known_from, np.ones(4, dtype=bool))]
        [[True, True, True, True], [False, False, True, True]]
    """
    numbers = np.unique(origins[there & (origins >= RANDOM)]).tolist()
    return [
        RandomDraw(there & (known_from > number), np.flatnonzero(there & (origins == number))) for number in numbers
    ]


def origin_name(origin: int) -> str:
    """Return how a text was drawn, in one word.

    >>> origin_name(3), origin_name(CHOSEN), origin_name(BROUGHT)
    ('random', 'chosen', 'brought')
    """
    return "random" if origin >= RANDOM else NAMES[origin]
