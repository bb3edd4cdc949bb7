"""Rankings of candidates that depend on ids and scores only, not on the order of the candidates."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hybridal.acquisition import Selection
from hybridal.core.outputs import Floats
from hybridal.errors import UserError


def top(ids: Sequence[str], scores: Floats, n: int) -> Selection:
    """Select the n highest scores, best first, with ties broken by id. Only the chosen ones are sorted.

    >>> top(["d", "c", "b", "a"], np.array([0.5, 0.9, 0.5, 0.5]), 2)
    Selection(ids=('c', 'a'), scores=(0.9, 0.5))
    """
    scores = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(scores).all():
        where = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise UserError(
            f"The score of candidate '{ids[where]}' is not a finite number; training has diverged: lower "
            "the learning rate."
        )
    n = min(n, len(ids))
    if n <= 0:
        return Selection((), ())
    cut = np.partition(scores, len(ids) - n)[len(ids) - n]  # the lowest score that is still chosen
    above = np.flatnonzero(scores > cut).tolist()
    level = heapq.nsmallest(n - len(above), np.flatnonzero(scores == cut).tolist(), key=ids.__getitem__)
    return chosen(ids, sorted([*above, *level], key=lambda i: (-scores[i], ids[i])), scores)


def chosen(ids: Sequence[str], positions: Sequence[int], scores: Floats) -> Selection:
    """A selection of the candidates at these positions, with their scores."""
    return Selection(tuple(str(ids[i]) for i in positions), tuple(float(scores[i]) for i in positions))


def canonical(ids: Sequence[str]) -> NDArray[np.intp]:
    """The positions of the candidates in the order of their ids.

    Iterate in this order when drawing at random or comparing candidates, so that shuffled candidates give the same
    choice.

    >>> canonical(["b", "c", "a"]).tolist()
    [2, 0, 1]
    """
    return np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.intp)
