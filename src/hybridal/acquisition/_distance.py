"""Squared Euclidean distances by matrix products, in double precision."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridal.acquisition._chunks import chunks
from hybridal.core.outputs import Floats
from hybridal.errors import UserError

ROUNDING = 1e-12  # of what was subtracted: a difference below it is none


def squared_distances(x: Floats, y: Floats) -> NDArray[np.float64]:
    """(M, K): of each row of x to each row of y.

    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[3.0, 0.0]])).tolist()
    [[9.0], [16.0]]
    """
    x, y = x.astype(np.float64, copy=False), y.astype(np.float64, copy=False)
    norms = np.einsum("ij,ij->i", x, x)[:, None] + np.einsum("ij,ij->i", y, y)[None, :]
    return settled(norms - 2.0 * (x @ y.T), norms)


def squared_norms(rows: Floats, order: NDArray[np.intp]) -> NDArray[np.float64]:
    """Of the rows, walked in this order.

    >>> squared_norms(np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([1, 0])).tolist()
    [4.0, 25.0]
    """
    found = np.empty(len(order))
    for some in chunks(len(order), rows.shape[1]):
        piece = rows[order[some]].astype(np.float64)
        found[some] = np.einsum("ij,ij->i", piece, piece)
    return found


def products(rows: Floats, order: NDArray[np.intp], place: int) -> NDArray[np.float64]:
    """The inner products of the rows, walked in this order, with the one at this place of it.

    >>> products(np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([1, 0]), 0).tolist()
    [4.0, 8.0]
    """
    one = rows[order[place]].astype(np.float64)
    found = np.empty(len(order))
    for some in chunks(len(order), rows.shape[1]):
        found[some] = rows[order[some]].astype(np.float64) @ one
    return found


def apart(norms: NDArray[np.float64], inner: NDArray[np.float64], place: int) -> NDArray[np.float64]:
    """Squared distances to the row at this place, from the squared norms of all and their inner products with it.

    >>> apart(np.array([4.0, 25.0]), np.array([4.0, 8.0]), 0).tolist()
    [0.0, 13.0]
    """
    sums = norms + norms[place]
    return settled(sums - 2.0 * inner, sums)


def settled(differences: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sets what is only rounding to zero, in place, so that it decides nothing.

    |a|² + |b|² - 2ab leaves a little between equal points, or less than nothing; so do entropies of equal answers.

    >>> settled(np.array([1e-16, -1e-16, 0.5]), np.array([1.0, 1.0, 1.0])).tolist()
    [0.0, 0.0, 0.5]
    """
    differences[differences < ROUNDING * scale] = 0.0
    return differences


def finite(rows: Floats) -> Floats:
    """These rows, once it is sure that they are numbers."""
    if not np.isfinite(rows.sum(axis=-1, dtype=np.float64)).all():
        raise UserError("The model's outputs for the candidates are not finite; training has diverged.")
    return rows
