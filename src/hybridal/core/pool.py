"""The pool: which training texts are labelled, in which order, and which are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import UNKNOWN, Ints
from hybridal.core.provenance import BROUGHT, CHOSEN, NOT_DRAWN, RANDOM, RandomDraw, random_draws
from hybridal.core.rounds import LabelChanges

LEFT_OUT = UNKNOWN - 1  # the label of a text that is excluded from the pool


def _no_rows() -> Ints:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Pool:
    """The labels of the training texts; immutable, every change returns a new pool. Rows are positions in train.

    Attributes:
        labels: The class number of each row, or the number of its set of classes; `UNKNOWN` without a label,
            `LEFT_OUT` if the text is excluded.
        order: The labelled rows to learn from, in the order in which they got their labels.
        newest: How many rows at the end of `order` no model has learnt yet.
        pending: Rows that were chosen and have no label yet.
        held: Rows for validation, never learnt: either pending, or labelled and not in `order`.
        corrected: How many learnt labels were replaced since the last update.
        withdrawn: How many learnt labels were withdrawn since the last update.
        label_sets: The sets of classes by number, if a text may have several.
        origins: How each labelled or pending row was drawn (see `hybridal.core.provenance`).
        known_from: For each labelled row, how many random draws had begun when its label came.
        model_labels: What a model answered for each row, `UNKNOWN` where it was not asked; empty if no model answers.
        by_model: Labelled rows of which only the model gave the label.

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
    order: Ints = field(default_factory=_no_rows)
    newest: int = 0
    pending: Ints = field(default_factory=_no_rows)
    held: Ints = field(default_factory=_no_rows)
    corrected: int = 0
    withdrawn: int = 0
    label_sets: LabelSets | None = None
    origins: Ints = field(default_factory=_no_rows)
    known_from: Ints = field(default_factory=_no_rows)
    model_labels: Ints = field(default_factory=_no_rows)
    by_model: Ints = field(default_factory=_no_rows)

    def __post_init__(self) -> None:
        if len(self.origins) != len(self.labels):
            object.__setattr__(self, "origins", np.full(len(self.labels), NOT_DRAWN, dtype=np.int64))
            object.__setattr__(self, "known_from", np.zeros(len(self.labels), dtype=np.int64))

    @classmethod
    def unlabelled(cls, size: int, label_sets: LabelSets | None = None) -> Pool:
        """Return a pool of `size` texts without labels."""
        return cls(np.full(size, UNKNOWN, dtype=np.int64), label_sets=label_sets)

    def __len__(self) -> int:
        return len(self.order)

    def candidates(self) -> Ints:
        """Rows that are neither labelled nor pending."""
        free = self.labels == UNKNOWN
        free[self.pending] = False
        return np.flatnonzero(free)

    def newest_rows(self) -> Ints:
        """Labelled rows that no model has learnt yet."""
        return self.order[len(self.order) - self.newest :]

    def older_rows(self) -> Ints:
        """Labelled rows that the last model has learnt."""
        return self.order[: len(self.order) - self.newest]

    def label_changes(self) -> LabelChanges:
        """Count the changes since the last update.

        >>> pool = Pool.unlabelled(5).reveal({0: 0, 3: 0, 1: 1}).learnt()
        >>> pool.reveal({1: 0, 2: 2}).withdraw(np.array([3])).label_changes()
        LabelChanges(known=1, added=1, corrected=1, withdrawn=1, new_class_count=1, expected=1.0, last=False,
             counts=(2, 0, 1), unseen=1, texts=None, encoder=None)
        """
        older, newest = self.older_rows(), self.newest_rows()
        added = max(0, self.newest - self.corrected)  # a corrected label may be withdrawn later
        known = self._class_counts(older)
        # Good-Turing: the next text is of an unseen class about as often as a known text is the only one of its class.
        unseen_share = int((known == 1).sum()) / max(1, len(older))
        new = np.setdiff1d(np.flatnonzero(self._class_counts(newest)), np.flatnonzero(known))
        return LabelChanges(
            known=len(older),
            added=added,
            corrected=self.corrected,
            withdrawn=self.withdrawn,
            new_class_count=len(new),
            expected=added * unseen_share,
            counts=tuple(self._class_counts(self.order).tolist()),
            unseen=self._with_any(newest, new),
            texts=None if self.label_sets is None else len(self.order),
        )

    def rarest_class(self) -> Ints:
        """For each row its class; of several classes the one with the fewest labels. A text without any has its own."""
        if self.label_sets is None:
            return self.labels
        return self.label_sets.rarest_class(self.labels, self.labels[self.order])

    def _class_counts(self, rows: Ints) -> Ints:
        """How many of these labelled rows have each class."""
        if self.label_sets is None:
            return np.bincount(self.labels[rows])
        return self.label_sets.counts(self.labels[rows])

    def _with_any(self, rows: Ints, classes: Ints) -> int:
        """How many of these labelled rows have one of the classes."""
        if self.label_sets is None:
            return int(np.isin(self.labels[rows], classes).sum())
        return int((self.label_sets.targets(self.labels[rows])[:, classes] > 0).any(axis=1).sum())

    def choose(self, rows: Ints, held: Ints | None = None, origin: int = CHOSEN, held_origin: int = RANDOM) -> Pool:
        """Make rows pending, in this order, after those of `held`, which are for validation.

        Args:
            rows: The rows to learn from.
            held: The rows for validation.
            origin: How `rows` were drawn: `CHOSEN`, `BROUGHT`, or `RANDOM` if each candidate had the same probability.
            held_origin: The same for `held`.
        """
        first = _no_rows() if held is None else np.array(held, dtype=np.int64)
        if len(guessed := np.intersect1d(first, self.by_model)):  # people decide on validation texts
            return self.withdraw(guessed).choose(rows, held, origin, held_origin)
        kept = self.measured()
        origins = np.where(self.labels >= 0, self.origins, NOT_DRAWN)
        draw = replace(self, origins=origins)._draws_begun()
        for some, how in ((np.array(rows, dtype=np.int64), origin), (first, held_origin)):
            origins[some] = draw if how == RANDOM else how
        return replace(
            self,
            pending=np.concatenate([first, np.array(rows, dtype=np.int64)]),
            held=np.concatenate([kept, first]),
            origins=origins,
        )

    def random_draws(self) -> list[RandomDraw]:
        """The random draws of which a text has a label, in their order.

        >>> pool = Pool.unlabelled(9).choose(np.array([2]), held=np.array([5, 6])).reveal({2: 0, 5: 1, 6: 0, 8: 1})
        >>> pool = pool.choose(np.array([0]), held=np.array([7])).reveal({0: 1, 7: 1})
        >>> [(int(draw.frame.sum()), draw.drawn.tolist()) for draw in pool.random_draws()]
        [(9, [5, 6]), (5, [7])]
        """
        labelled = self.by_people().labels >= 0  # a text that a model labelled can still be drawn for people
        known_from = np.where(labelled, self.known_from, np.iinfo(np.int64).max)
        return random_draws(np.where(labelled, self.origins, NOT_DRAWN), known_from, self.labels != LEFT_OUT)

    def _draws_begun(self) -> int:
        """The number of the next random draw: one whose texts were all left without a label is not counted."""
        known = self.known_from[self.labels >= 0]
        return max(1 + int(self.origins.max(initial=NOT_DRAWN)), int(known.max(initial=0)))

    def reveal(self, labels: Mapping[int, int], waiting: bool = False) -> Pool:
        """Add labels; those of pending rows keep the order in which the rows were chosen.

        A row that had another label is corrected: it counts as new, because the model has yet to learn it. A row that
        had the same label is unchanged, and one that only gets further decisions is new, not corrected. Pending rows
        without a label become candidates again, unless `waiting`.

        >>> pool = Pool.unlabelled(5).choose(np.array([3]), held=np.array([4, 2])).reveal({4: 0}, waiting=True)
        >>> pool.held.tolist(), pool.pending.tolist()
        ([4, 2], [2, 3])
        """
        left = self.pending[~np.isin(self.pending, [*labels])] if waiting else _no_rows()
        by_model = self.by_model[~np.isin(self.by_model, [*labels])]
        labels = {row: label for row, label in labels.items() if self.labels[row] != label}
        updated = self.labels.copy()
        updated[list(labels)] = list(labels.values())
        chosen = [row for row in self.pending.tolist() if row in labels]
        others = [row for row in labels if row not in set(chosen)]
        rows = np.array([*chosen, *others], dtype=np.int64)
        rows = rows[~np.isin(rows, self.held)]
        learnt = rows[np.isin(rows, self.older_rows())]
        origins, known_from = self._with_origins(np.array([*labels], dtype=np.int64), left)
        corrected = self.corrected + sum(self._is_corrected(row, labels[row]) for row in learnt.tolist())
        taught = replace(self._without(rows), labels=updated, pending=left, corrected=corrected)._with_newest(rows)
        taught = replace(taught, origins=origins, known_from=known_from, by_model=by_model)
        return replace(taught, held=self.held[(updated[self.held] != UNKNOWN) | np.isin(self.held, left)])

    def reveal_by_model(self, labels: Mapping[int, int], waiting: bool = False) -> Pool:
        """Add a model's answers. On texts that people labelled, or that are held for validation, they are no labels.

        There they only show how good the model is.

        >>> pool = Pool.unlabelled(4).choose(np.array([1]), held=np.array([3])).reveal({0: 1}, waiting=True)
        >>> pool = pool.reveal_by_model({0: 0, 1: 1, 3: 1})
        >>> pool.labels.tolist(), pool.by_model.tolist(), pool.model_labels.tolist()
        ([1, 1, -1, -1], [1], [0, 1, -1, 1])
        >>> pool.reveal({1: 0}).by_model.tolist()
        []
        """
        answers = self.model_labels.copy() if len(self.model_labels) else np.full_like(self.labels, UNKNOWN)
        answers[[*labels]] = [*labels.values()]
        may_label = (self.labels == UNKNOWN) | np.isin(np.arange(len(self.labels)), self.by_model)
        may_label[self.held] = False
        own = {row: label for row, label in labels.items() if may_label[row]}
        by_model = np.union1d(self.by_model, np.array([*own], dtype=np.int64))
        return replace(self.reveal(own, waiting), model_labels=answers, by_model=by_model)

    def without_random(self) -> Pool:
        """Return the pool with no pending row counted as random, except those for validation.

        If a model labels a part of the rows, those that are left to people are no random sample.
        """
        origins = self.origins.copy()
        origins[np.setdiff1d(self.pending, self.held)] = CHOSEN
        return replace(self, origins=origins)

    def compared(self) -> tuple[Ints, Ints]:
        """The model's answers for texts that people labelled too, and people's labels of these."""
        if not len(self.model_labels):
            return _no_rows(), _no_rows()
        both = (self.labels >= 0) & (self.model_labels >= 0)
        both[self.by_model] = False
        return self.model_labels[both], self.labels[both]

    def by_people(self) -> Pool:
        """Return the pool without the labels of a model."""
        return self.withdraw(self.by_model) if len(self.by_model) else self

    def _with_origins(self, rows: Ints, waiting: Ints) -> tuple[Ints, Ints]:
        """How all rows were drawn and since when they are known, once these have labels and those of `waiting` none.

        A corrected label keeps what it had. A row that was not asked for was brought along.
        """
        new = rows[(self.labels[rows] < 0) | np.isin(rows, self.by_model)]
        origins, known_from = self.origins.copy(), self.known_from.copy()
        origins[new[~np.isin(new, self.pending)]] = BROUGHT
        known_from[new] = self._draws_begun()
        returned = self.pending[~np.isin(self.pending, rows) & ~np.isin(self.pending, waiting)]
        origins[returned[self.labels[returned] < 0]] = NOT_DRAWN
        return origins, known_from

    def learnt(self) -> Pool:
        """Return the pool after an update: no label is new."""
        return replace(self, newest=0, corrected=0, withdrawn=0)

    def withdraw(self, rows: Ints) -> Pool:
        """Remove labels; the rows become candidates again."""
        updated = self.labels.copy()
        updated[rows] = UNKNOWN
        withdrawn = self.withdrawn + int(np.isin(self.older_rows(), rows).sum())
        origins = self.origins.copy()
        origins[rows] = NOT_DRAWN
        by_model = self.by_model[~np.isin(self.by_model, rows)]
        left = replace(self._without(rows), labels=updated, withdrawn=withdrawn, origins=origins, by_model=by_model)
        return replace(left, held=self.held[~np.isin(self.held, np.intersect1d(rows, self.measured()))])

    def forget_model(self, rows: Ints) -> Pool:
        """Forget what a model answered for these rows; labels that rest on it are removed.

        >>> pool = Pool.unlabelled(3).reveal({0: 1}).reveal_by_model({0: 0, 1: 1, 2: 1}).forget_model(np.array([0, 1]))
        >>> pool.labels.tolist(), pool.by_model.tolist(), pool.model_labels.tolist()
        ([1, -1, 1], [2], [-1, -1, 1])
        """
        if not len(self.model_labels):
            return self
        answers = self.model_labels.copy()
        answers[rows] = UNKNOWN
        return replace(self.withdraw(np.intersect1d(self.by_model, rows)), model_labels=answers)

    def leave_out(self, rows: Ints) -> Pool:
        """Exclude these rows, and no others, from the pool: they have no label and are not candidates.

        >>> pool = Pool.unlabelled(4).reveal({0: 1, 1: 0}).learnt().leave_out(np.array([0, 3]))
        >>> pool.candidates().tolist(), pool.order.tolist(), pool.label_changes().withdrawn
        ([2], [1], 1)
        >>> pool.leave_out(np.array([3])).candidates().tolist()
        [0, 2]
        """
        before = np.flatnonzero(self.labels == LEFT_OUT)
        left = self.withdraw(np.setdiff1d(rows, before))
        updated = left.labels.copy()
        updated[before] = UNKNOWN
        updated[rows] = LEFT_OUT
        pending, held = (some[~np.isin(some, rows)] for some in (left.pending, left.held))
        origins = left.origins.copy()
        origins[rows] = NOT_DRAWN
        return replace(left, labels=updated, pending=pending, held=held, origins=origins)

    def measured(self) -> Ints:
        """Held rows that have a label."""
        known: Ints = self.held[self.labels[self.held] != UNKNOWN]
        return known

    def _is_corrected(self, row: int, label: int) -> bool:
        """Whether another label of a labelled row contradicts the present one."""
        return self.label_sets is None or not self.label_sets.extends(label, int(self.labels[row]))

    def _without(self, rows: Ints) -> Pool:
        newest = int((~np.isin(self.newest_rows(), rows)).sum())
        return replace(self, order=self.order[~np.isin(self.order, rows)], newest=newest)

    def _with_newest(self, rows: Ints) -> Pool:
        return replace(self, order=np.concatenate([self.order, rows]), newest=self.newest + len(rows))
