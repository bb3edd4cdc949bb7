"""The first draw: which texts to label while no text is labelled, from the embeddings of a frozen encoder.

Greedy facility location: each next text is the one that most increases the similarity of all texts to their nearest
chosen text. People label in order and stop when they like, so every prefix of the order must be a good choice; greedy
prefixes are, and need no number of clusters. The order starts in the middle of large groups, not with outliers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats, Ints
from hybridal.errors import UserError

MAX_REPRESENTED = 2000  # texts that the chosen ones should represent; a sample of more gives the same order
# The share of the mean embedding to subtract. What all texts have in common (language, genre) makes them similar
# without telling their classes apart. Subtracting all of it would tear apart a group that holds most of the texts.
CENTRING = 0.5
CLEAREST_SHARE = 0.25  # of the texts that are nearest to a class name, the share that may be taken in its turn
GAINS_PER_UPDATE = 64
ROUNDING = 1e-9  # shorter directions are rounding errors


def first_draw(embeddings: Floats, n: int, rng: np.random.Generator, names: Floats | None = None) -> Ints:
    """Return the rows of n texts in the order in which to label them; a smaller n gives a prefix of the same order.

    Args:
        embeddings: The embeddings of the texts.
        n: How many texts to choose, at most all.
        rng: Breaks ties.
        names: Embeddings of the class names by the same encoder. If given, every other text is taken near a name, the
            names in turn; the others are chosen without names, because a name like "2" is not informative.

    >>> topics = np.repeat([0, 1, 2], [30, 20, 10])
    >>> texts, rng = np.eye(3)[topics], np.random.default_rng
    >>> topics[first_draw(texts, 3, rng(0))].tolist()
    [0, 1, 2]
    >>> topics[first_draw(texts, 3, rng(0), names=np.eye(3)[1:])].tolist()
    [1, 0, 2]
    """
    if not len(embeddings):
        return np.zeros(0, dtype=np.int64)
    # Shuffle, so that ties are broken at random and the first rows are a sample.
    shuffled = rng.permutation(len(_finite(embeddings, "text")))
    points = directions(embeddings[shuffled], centring=CENTRING)
    if names is None or len(names) < 2:
        nearest, clear = np.zeros(len(points), dtype=np.intp), np.ones(len(points), dtype=np.bool_)
    else:
        if names.shape[1:] != embeddings.shape[1:]:
            raise UserError(
                f"Class names are embedded in {names.shape[1]} numbers and texts in {embeddings.shape[1]}; "
                "embed both with the same encoder."
            )
        nearest, clear = by_name(points, directions(_finite(names, "class name"), centring=1.0))
    return shuffled[_greedy(points, n, nearest, clear)]


def directions(rows: Floats, centring: float) -> Floats:
    """Unit vectors of the rows after subtracting a share of their mean; zero if nothing is left.

    >>> directions(np.array([[2.0, 0.0], [0.0, 5.0]]), centring=1.0).round(1)
    array([[ 0.7, -0.7],
           [-0.7,  0.7]], dtype=float32)
    """
    unit = _unit(rows.astype(np.float64))
    return _unit(unit - centring * unit.mean(axis=0)).astype(np.float32)


def by_name(points: Floats, names: Floats) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """The nearest name of each point, and whether the point is among those that prefer this name most clearly.

    >>> found = by_name(np.array([[1.0], [0.2], [-0.9], [-0.3]]), np.array([[-1.0], [1.0]]))
    >>> [one.tolist() for one in found]
    [[1, 1, 0, 0], [True, False, True, False]]
    """
    near = (points @ names.T).astype(np.float64)
    near -= near.mean(axis=0)  # or a name that is near every text would get all of them
    near /= np.maximum(near.std(axis=0), ROUNDING)
    nearest = near.argmax(axis=1)
    second, best = np.partition(near, -2, axis=1)[:, -2:].T
    order = np.argsort(second - best, kind="stable")
    clear = np.zeros(len(points), dtype=np.bool_)
    for name in range(len(names)):
        own = order[nearest[order] == name]
        clear[own[: int(np.ceil(CLEAREST_SHARE * len(own)))]] = True
    return nearest, clear


def _greedy(points: Floats, n: int, nearest: NDArray[np.intp], clear: NDArray[np.bool_]) -> Ints:
    """Choose points by their gain: by how much they raise the similarity of all texts to the nearest chosen one."""
    similar = np.maximum(points @ points[:MAX_REPRESENTED].T, 0.0)
    reached = np.zeros(similar.shape[1], dtype=similar.dtype)
    # Lazy greedy: gains only fall as points are chosen, so old gains are upper bounds; recompute the highest only.
    block = min(GAINS_PER_UPDATE, len(points)) - 1
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
            highest[-1] = place  # with ties, argpartition may have left it out
            bounds[highest] = np.maximum(similar[highest] - reached, 0.0).sum(axis=1, dtype=np.float64)
            known_at[highest] = len(picked)
        picked.append(place)
        free[place] = False
        taken[nearest[place]] += 1
        reached = np.maximum(reached, similar[place])
    return np.array(picked, dtype=np.intp)


def _unit(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > ROUNDING, rows / np.maximum(lengths, ROUNDING), 0.0)


def _finite(rows: Floats, what: str) -> Floats:
    wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(wrong):
        raise UserError(f"The embedding of {what} {wrong[0]} is not finite; the encoder cannot be used.")
    return rows
