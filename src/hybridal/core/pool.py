"""The pool: which texts of train are labelled, in the order they were acquired, and which are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from hybridal.core.outputs import UNKNOWN, Ints
from hybridal.core.rounds import LabelChanges

GONE = UNKNOWN - 1  # the label of a text that takes no part


def _none() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Pool:
    """A value: every change gives a new pool. Rows are positions in the task's train split.

    `order` lists the labelled rows in the order they were acquired; the last `newest` of them no model has
    learnt yet. `pending` were chosen and wait for their labels. `held` are to be measured on and never learnt: they
    are pending, or labelled and not in `order`. `corrected` and `withdrawn` count the labels that changed since the
    last update.

    >>> pool = Pool.unlabelled(5).choose(np.array([3, 1])).reveal({3: 0, 1: 1})
    >>> pool.order.tolist(), pool.newest_rows().tolist(), pool.candidates().tolist()
    ([3, 1], [3, 1], [0, 2, 4])
    >>> pool.choose(np.array([0])).candidates().tolist()
    [2, 4]
    >>> pool = pool.choose(np.array([0]), held=np.array([4])).reveal({0: 1, 4: 0})
    >>> pool.order.tolist(), pool.held.tolist(), pool.candidates().tolist()
    ([3, 1, 0], [4], [2])
    """

    labels: Ints
    order: Ints = field(default_factory=_none)
    newest: int = 0
    pending: Ints = field(default_factory=_none)
    held: Ints = field(default_factory=_none)
    corrected: int = 0
    withdrawn: int = 0

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

    def label_changes(self) -> LabelChanges:
        """What a model that has learnt the older labels does not know yet.

        >>> pool = Pool.unlabelled(5).reveal({0: 0, 3: 0, 1: 1}).learnt()
        >>> pool.reveal({1: 0, 2: 2}).withdraw(np.array([3])).label_changes()
        LabelChanges(known=1, added=1, corrected=1, withdrawn=1, new_class_count=1, expected=1.0, last=False,
             counts=(2, 0, 1), unseen=1)
        """
        older, newest = self.labels[self.older_rows()], self.labels[self.newest_rows()]
        added = max(0, self.newest - self.corrected)  # one that was corrected may be withdrawn after
        # The next text is of a class never seen about as often as a known one is the only one of its class.
        alone = int((np.bincount(older) == 1).sum()) / max(1, len(older))
        unseen = newest[~np.isin(newest, older)]
        return LabelChanges(
            known=len(older),
            added=added,
            corrected=self.corrected,
            withdrawn=self.withdrawn,
            new_class_count=len(np.unique(unseen)),
            expected=added * alone,
            counts=tuple(np.bincount(self.labels[self.order]).tolist()),
            unseen=len(unseen),
        )

    def choose(self, rows: Ints, held: Ints | None = None) -> Pool:
        """Marks rows as waiting for their labels, in this order, after those of `held`, which are to be measured on."""
        kept = self.measured()
        first = _none() if held is None else np.array(held, dtype=np.int64)
        return replace(
            self,
            pending=np.concatenate([first, np.array(rows, dtype=np.int64)]),
            held=np.concatenate([kept, first]),
        )

    def reveal(self, labels: Mapping[int, int], waiting: bool = False) -> Pool:
        """Adds labels; those of pending rows keep the order in which they were chosen.

        A row that had another label is corrected: it counts as new, because the model has yet to learn it. One that
        had the same is as it was. Pending rows that get no label become candidates again, unless they go on `waiting`.

        >>> pool = Pool.unlabelled(5).choose(np.array([3]), held=np.array([4, 2])).reveal({4: 0}, waiting=True)
        >>> pool.held.tolist(), pool.pending.tolist()
        ([4, 2], [2, 3])
        """
        left = self.pending[~np.isin(self.pending, [*labels])] if waiting else _none()
        labels = {row: label for row, label in labels.items() if self.labels[row] != label}
        updated = self.labels.copy()
        updated[list(labels)] = list(labels.values())
        chosen = [row for row in self.pending.tolist() if row in labels]
        others = [row for row in labels if row not in set(chosen)]
        rows = np.array([*chosen, *others], dtype=np.int64)
        rows = rows[~np.isin(rows, self.held)]
        corrected = self.corrected + int(np.isin(rows, self.older_rows()).sum())
        taught = replace(self._without(rows), labels=updated, pending=left, corrected=corrected)._with_newest(rows)
        return replace(taught, held=self.held[(updated[self.held] != UNKNOWN) | np.isin(self.held, left)])

    def learnt(self) -> Pool:
        """The model has seen all labels: none is new any more."""
        return replace(self, newest=0, corrected=0, withdrawn=0)

    def withdraw(self, rows: Ints) -> Pool:
        """Takes labels back; the rows become candidates again."""
        updated = self.labels.copy()
        updated[rows] = UNKNOWN
        withdrawn = self.withdrawn + int(np.isin(self.older_rows(), rows).sum())
        left = replace(self._without(rows), labels=updated, withdrawn=withdrawn)
        return replace(left, held=self.held[~np.isin(self.held, np.intersect1d(rows, self.measured()))])

    def leave_out(self, rows: Ints) -> Pool:
        """These rows, and no others, take no part: they are no candidates, and have no label.

        >>> pool = Pool.unlabelled(4).reveal({0: 1, 1: 0}).learnt().leave_out(np.array([0, 3]))
        >>> pool.candidates().tolist(), pool.order.tolist(), pool.label_changes().withdrawn
        ([2], [1], 1)
        >>> pool.leave_out(np.array([3])).candidates().tolist()
        [0, 2]
        """
        before = np.flatnonzero(self.labels == GONE)
        left = self.withdraw(np.setdiff1d(rows, before))
        updated = left.labels.copy()
        updated[before] = UNKNOWN
        updated[rows] = GONE
        pending, held = (some[~np.isin(some, rows)] for some in (left.pending, left.held))
        return replace(left, labels=updated, pending=pending, held=held)

    def measured(self) -> Ints:
        """Those of the held rows whose labels are known."""
        known: Ints = self.held[self.labels[self.held] != UNKNOWN]
        return known

    def _without(self, rows: Ints) -> Pool:
        newest = int((~np.isin(self.newest_rows(), rows)).sum())
        return replace(self, order=self.order[~np.isin(self.order, rows)], newest=newest)

    def _with_newest(self, rows: Ints) -> Pool:
        return replace(self, order=np.concatenate([self.order, rows]), newest=self.newest + len(rows))
