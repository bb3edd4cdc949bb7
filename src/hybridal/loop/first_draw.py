"""The first draw: which texts to label while nothing is labelled, from the embeddings of a frozen encoder.

Greedy facility location: each next text is the one that brings most other texts near to a chosen one. People label in
order and stop when they like, so the choice must be good at every length; a greedy order is, and needs no number of
clusters. It starts in the middle of large groups, never at odd texts, which stand for nobody but themselves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats, Ints
from hybridal.errors import UserError

REPRESENTED = 2000  # texts that the chosen ones should be near to; of more, a sample says the same
# What all texts share (the language, the genre) says nothing about their classes, yet makes them look alike. Taken off
# wholly, however, a group that holds most of the texts would lie around nothing and fall apart.
SHARED = 0.5
CLEAREST = 0.25  # of the texts that are nearest to a name, those that may be taken in its turn
TOGETHER = 64  # gains that are computed anew at once
NOTHING = 1e-9  # a direction shorter than this is rounding


def first_draw(embeddings: Floats, n: int, rng: np.random.Generator, names: Floats | None = None) -> Ints:
    """The rows of n texts (at most all), in the order in which to label them; fewer are the beginning of more.

    `names` are embeddings of the class names by the same encoder. With them every other text is taken near to a name,
    the names in turn. The rest are chosen without regard to names, since a name like "2" says nothing.

    >>> topics = np.repeat([0, 1, 2], [30, 20, 10])
    >>> texts, rng = np.eye(3)[topics], np.random.default_rng
    >>> topics[first_draw(texts, 3, rng(0))].tolist()
    [0, 1, 2]
    >>> topics[first_draw(texts, 3, rng(0), names=np.eye(3)[1:])].tolist()
    [1, 0, 2]
    """
    if not len(embeddings):
        return np.zeros(0, dtype=np.int64)
    # Shuffled first, so that ties are broken by chance and the first rows are a sample.
    shuffled = rng.permutation(len(_numbers(embeddings, "text")))
    points = directions(embeddings[shuffled], off=SHARED)
    if names is None or len(names) < 2:
        nearest, clear = np.zeros(len(points), dtype=np.intp), np.ones(len(points), dtype=np.bool_)
    else:
        if names.shape[1:] != embeddings.shape[1:]:
            raise UserError(
                f"Class names are embedded in {names.shape[1]} numbers and texts in {embeddings.shape[1]}; "
                "embed both with the same encoder."
            )
        nearest, clear = by_name(points, directions(_numbers(names, "class name"), off=1.0))
    return shuffled[_greedy(points, n, nearest, clear)]


def directions(rows: Floats, off: float) -> Floats:
    """Where each row points, seen from this part of the way to the mean of all; a row at that place points nowhere.

    >>> directions(np.array([[2.0, 0.0], [0.0, 5.0]]), off=1.0).round(1)
    array([[ 0.7, -0.7],
           [-0.7,  0.7]], dtype=float32)
    """
    unit = _unit(rows.astype(np.float64))
    return _unit(unit - off * unit.mean(axis=0)).astype(np.float32)


def by_name(points: Floats, names: Floats) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The nearest name of each point, and whether it is one of those that prefer this name most clearly.

    >>> found = by_name(np.array([[1.0], [0.2], [-0.9], [-0.3]]), np.array([[-1.0], [1.0]]))
    >>> [one.tolist() for one in found]
    [[1, 1, 0, 0], [True, False, True, False]]
    """
    near = (points @ names.T).astype(np.float64)
    near -= near.mean(axis=0)  # a name that is near to every text would take all of them
    near /= np.maximum(near.std(axis=0), NOTHING)
    nearest = near.argmax(axis=1)
    second, best = np.partition(near, -2, axis=1)[:, -2:].T
    order = np.argsort(second - best, kind="stable")
    clear = np.zeros(len(points), dtype=np.bool_)
    for name in range(len(names)):
        own = order[nearest[order] == name]
        clear[own[: int(np.ceil(CLEAREST * len(own)))]] = True
    return nearest, clear


def _greedy(points: Floats, n: int, nearest: NDArray[np.intp], clear: NDArray[np.bool_]) -> Ints:
    """Places in the order of their gain: by how much they raise the similarity of texts to the nearest chosen one."""
    similar = np.maximum(points @ points[:REPRESENTED].T, 0.0)
    reached = np.zeros(similar.shape[1], dtype=similar.dtype)
    # A gain only falls as others are chosen, so an old one is a bound: only the highest must be computed anew.
    block = min(TOGETHER, len(points)) - 1
    bounds = similar.sum(axis=1, dtype=np.float64)
    known_at = np.zeros(len(points), dtype=np.intp)
    free = np.ones(len(points), dtype=np.bool_)
    taken = np.zeros(nearest.max(initial=0) + 1, dtype=np.intp)
    picked: list[int] = []
    while len(picked) < min(n, len(points)):
        allowed = free
        in_turn = free & clear
        if len(picked) % 2 == 0 and in_turn.any():
            allowed = in_turn & (taken[nearest] == taken[nearest[in_turn]].min())
        while known_at[place := int(np.where(allowed, bounds, -1.0).argmax())] < len(picked):
            highest = np.argpartition(np.where(allowed, -bounds, 1.0), block)[: block + 1]
            highest[-1] = place  # of many that are equal, any may be among the highest
            bounds[highest] = np.maximum(similar[highest] - reached, 0.0).sum(axis=1, dtype=np.float64)
            known_at[highest] = len(picked)
        picked.append(place)
        free[place] = False
        taken[nearest[place]] += 1
        reached = np.maximum(reached, similar[place])
    return np.array(picked, dtype=np.intp)


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > NOTHING, rows / np.maximum(lengths, NOTHING), 0.0)


def _numbers(rows: Floats, what: str) -> Floats:
    wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(wrong):
        raise UserError(f"The embedding of {what} {wrong[0]} is not finite; the encoder cannot be used.")
    return rows
