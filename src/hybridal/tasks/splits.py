"""Stratified, seeded draws of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybridal.core.outputs import Ints
from hybridal.errors import UserError
from hybridal.randomness import stream


def validation_size(rows: int) -> int:
    """How many rows to hold out for validation if nobody says: a tenth, at least 50, at most 1,000 or a quarter.

    Fewer than 50 say little about a model, more than 1,000 cost time in every epoch, and most rows are to learn from.

    >>> [validation_size(rows) for rows in (10, 100, 300, 2000, 100_000)]
    [2, 25, 50, 200, 1000]
    """
    return max(1, min(max(rows // 10, 50), 1000, rows // 4))


def shares(counts: Ints, size: int) -> Ints:
    """How many of each class a stratified draw of `size` takes: proportional, by largest remainder.

    Where it can, the rounding leaves each class at least one row, so that a rare class is not lost to the rest.

    >>> shares(np.array([90, 9, 1]), 20).tolist()
    [18, 2, 0]
    """
    total = int(counts.sum())
    if not 0 <= size <= total:
        raise UserError(f"{size} rows cannot be drawn out of {total}; ask for fewer.")
    # Whole numbers throughout: float rounding would decide ties.
    taken, remainder = np.divmod(counts * size, max(total, 1))
    last = taken + 1 >= counts
    order = sorted(range(len(counts)), key=lambda c: (remainder[c] == 0, last[c], -remainder[c], c))
    taken[order[: size - int(taken.sum())]] += 1
    return taken


def draw(labels: Ints, sizes: Sequence[int], seed: int, purpose: str = "split") -> list[Ints]:
    """Disjoint stratified draws, one per size, each from what the ones before left; last comes the rest.

    Only rows with a known label are drawn; the others are in the rest. If no label is known at all, the draws are
    random. Row numbers ascend, so that a split keeps the order of its source.

    >>> test, validation, rest = draw(np.array([0, 0, 0, 0, 1, 1, 1, 1]), [4, 2], seed=42)
    >>> len(test), len(validation), len(rest), sorted([*test, *validation, *rest]) == list(range(8))
    (4, 2, 2, True)
    """
    labels = np.asarray(labels, dtype=np.int64)
    known = labels >= 0
    if not known.any():
        labels, known = np.zeros_like(labels), np.ones_like(known)
    left = stream(seed, purpose).permutation(len(labels))
    parts: list[Ints] = []
    for size in sizes:
        counts = np.bincount(labels[left][known[left]], minlength=1)
        taken = shares(counts, size)
        chosen = np.zeros(len(left), dtype=bool)
        for label, count in enumerate(taken):
            chosen[np.flatnonzero(labels[left] == label)[:count]] = True
        parts.append(np.sort(left[chosen]))
        left = left[~chosen]
    return [*parts, np.sort(left)]
