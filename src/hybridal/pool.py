"""The pool: which texts of train are labelled, in the order they were acquired, and which are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from hybridal.outputs import Ints
from hybridal.task.task import UNKNOWN


def _none() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Pool:
    """A value: every change gives a new pool. Rows are positions in the task's train split.

    `order` lists the labelled rows in the order they were acquired; the last `newest` of them no model has
    learnt yet. `pending` were chosen and wait for their labels.

    >>> pool = Pool.unlabelled(5).choose(np.array([3, 1])).reveal({3: 0, 1: 1})
    >>> pool.order.tolist(), pool.newest_rows().tolist(), pool.candidates().tolist()
    ([3, 1], [3, 1], [0, 2, 4])
    >>> pool.choose(np.array([0])).candidates().tolist()
    [2, 4]
    """

    labels: Ints
    order: Ints = field(default_factory=_none)
    newest: int = 0
    pending: Ints = field(default_factory=_none)

    @classmethod
    def unlabelled(cls, size: int) -> Pool:
        return cls(np.full(size, UNKNOWN, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.order)

    def candidates(self) -> Ints:
        """Rows that are neither labelled nor waiting for their label."""
        free = self.labels == UNKNOWN
        free[self.pending] = False
        return np.flatnonzero(free)

    def newest_rows(self) -> Ints:
        return self.order[len(self.order) - self.newest :]

    def older_rows(self) -> Ints:
        return self.order[: len(self.order) - self.newest]

    def choose(self, rows: Ints) -> Pool:
        """Marks rows as waiting for their labels, in this order."""
        return replace(self, pending=np.array(rows, dtype=np.int64))

    def reveal(self, labels: Mapping[int, int]) -> Pool:
        """Adds labels; those of pending rows keep the order in which they were chosen.

        A row that was labelled before is corrected: it counts as new, because the model has yet to learn it. Pending
        rows that get no label become candidates again.
        """
        updated = self.labels.copy()
        updated[list(labels)] = list(labels.values())
        chosen = [row for row in self.pending.tolist() if row in labels]
        others = [row for row in labels if row not in set(chosen)]
        rows = np.array([*chosen, *others], dtype=np.int64)
        return replace(self._without(rows), labels=updated, pending=_none())._with_newest(rows)

    def learnt(self) -> Pool:
        """The model has seen all labels: none is new any more."""
        return replace(self, newest=0)

    def withdraw(self, rows: Ints) -> Pool:
        """Takes labels back; the rows become candidates again."""
        updated = self.labels.copy()
        updated[rows] = UNKNOWN
        return replace(self._without(rows), labels=updated)

    def _without(self, rows: Ints) -> Pool:
        newest = int((~np.isin(self.newest_rows(), rows)).sum())
        return replace(self, order=self.order[~np.isin(self.order, rows)], newest=newest)

    def _with_newest(self, rows: Ints) -> Pool:
        return replace(self, order=np.concatenate([self.order, rows]), newest=self.newest + len(rows))
