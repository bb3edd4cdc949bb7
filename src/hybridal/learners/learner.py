"""Active learning step by step, with labels from wherever you like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from hybridal.annotators import Annotator
from hybridal.core.facts import News, Round
from hybridal.core.outputs import UNKNOWN
from hybridal.core.pool import Pool
from hybridal.errors import UserError
from hybridal.loop.loop import Cell, State
from hybridal.loop.stopping import Advice, advise
from hybridal.schedules import Schedule
from hybridal.tasks import Task
from hybridal.updates import Update


class Learner:
    """Query, teach, update: the rounds of one cell, one at a time.

    `history` holds the facts of each update so far.
    """

    def __init__(self, cell: Cell, schedule: Schedule) -> None:
        self.cell, self.schedule = cell, schedule
        self.history: list[Round] = []
        self._state = State(0, "", _known_labels(cell.task))
        self._rows = {id: row for row, id in enumerate(cell.task.train.ids)}

    @property
    def labels(self) -> dict[str, str]:
        """The labels to learn from, in the order they came."""
        pool, task = self._state.pool, self.cell.task
        return {task.train.ids[row]: task.classes[pool.labels[row]] for row in pool.order}

    def query(self, n: int | None = None) -> list[str]:
        """The ids of n texts to label next (default: the protocol's batch), best first.

        Before the first update there is no model to ask, and the texts are drawn as the protocol says: at random, or
        so that they show what there is. Asked twice without teaching in between, it answers the same.
        """
        n = self._count(n)
        waiting = replace(self._state, pool=self._state.pool.choose(np.empty(0, dtype=np.int64)))
        if not self.history:
            pool = self.cell.choose_first(waiting.pool, n)
            self._state = replace(waiting, pool=pool)
            return [self.cell.task.train.ids[row] for row in pool.pending]
        fresh = replace(self.history[-1], acquired=(), scores=(), held=())
        self._state, fact = self.cell.acquire(waiting, fresh, n)
        self.history[-1] = fact
        return [*fact.held, *fact.acquired]

    def teach(self, labels: Mapping[str, str], update: bool = True) -> Round | None:
        """Takes labels, new or corrected, by id; then updates the model unless told not to.

        Nothing is taken if any id or class is unknown.
        """
        rows = {self._row(id): self.cell.task.class_index(name) for id, name in labels.items()}
        self._state = replace(self._state, pool=self._state.pool.reveal(rows))
        return self.update() if update else None

    def run(self, annotator: Annotator, rounds: int) -> list[Round]:
        """Queries, asks the annotator (a `Callback`, say) and teaches, until so many rounds are done.

        It ends early when the annotator has no label to give or no text is left.
        """
        splits = [split for _, split in self.cell.task.splits()]
        texts = {id: text for split in splits for id, text in zip(split.ids, split.texts, strict=True)}
        done: list[Round] = []
        while len(done) < rounds:
            answers = annotator.label({id: texts[id] for id in self.query()})
            if not answers:
                break
            fact = self.teach(answers)
            done += [fact] if fact else []
        return done

    @property
    def next_update(self) -> Update:
        """What `update` would do now."""
        return self.schedule.decide(self.history, self.news)

    @property
    def news(self) -> News:
        """What came since the last update."""
        return self._state.pool.news()

    def advice(self) -> Advice:
        """What the next labels are expected to bring, and whether it is time to stop."""
        return advise(self.history, len(self.cell.task.classes))

    def withdraw(self, ids: Iterable[str]) -> None:
        """Takes labels back; the next update learns without them."""
        rows = np.array([self._row(id) for id in ids], dtype=np.int64)
        self._state = replace(self._state, pool=self._state.pool.withdraw(rows))

    def update(self) -> Round:
        """One round's training, as the schedule decides from the history."""
        return self._learn(last=False)

    def finish(self) -> Round:
        """A last round on the labels there are, before the model is used: `auto` goes over all of them once more."""
        self._state = self.cell.unasked(self._state)
        return self._learn(last=True)

    def _learn(self, last: bool) -> Round:
        if not len(self._state.pool):
            raise UserError("There are no labels to learn from yet; teach some first.")
        update = self.schedule.decide(self.history, self.cell.news(self._state, last))
        self._state, fact = self.cell.learn(self._state, update, last)
        self.history.append(fact)
        return fact

    def _count(self, n: int | None) -> int:
        n = self.cell.rules.batch if n is None else n
        if n < 1:
            raise UserError(f"query({n}): ask for at least one text.")
        return n

    def _row(self, id: str) -> int:
        try:
            return self._rows[id]
        except KeyError:
            raise UserError(f"'{id}' is not the id of a text of task '{self.cell.task.name}'.") from None


def _known_labels(task: Task) -> Pool:
    """Labels that came with a part of the texts are known from the start; with all of them, it is a simulation."""
    pool = Pool.unlabelled(len(task.train))
    known = np.flatnonzero(task.train.labels != UNKNOWN)
    if len(known) == len(task.train):
        return pool
    return pool.reveal(dict(zip(known.tolist(), task.train.labels[known].tolist(), strict=True)))
