from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hybridal.core.outputs import UNKNOWN
from hybridal.core.pool import Pool


def contents(pool: Pool) -> tuple[list[int], list[int], int, list[int], list[int]]:
    return pool.labels.tolist(), pool.order.tolist(), pool.newest, pool.pending.tolist(), pool.held.tolist()


class AnyHistory(RuleBasedStateMachine):
    """A pool and a reference model of dictionaries and lists give the same results for any sequence of changes."""

    @initialize(size=st.integers(0, 8))
    def start(self, size: int) -> None:
        self.size = size
        self.pool = Pool.unlabelled(size)
        self.past: list[tuple[Pool, object]] = []
        # Rows in the order they were labelled; those that were since the last `learnt`; those that wait.
        self.labels: dict[int, int] = {}
        self.new: set[int] = set()
        self.pending: list[int] = []
        # Labels that are measured on, and rows that wait for such a label; what changed since the last `learnt`.
        self.measured: dict[int, int] = {}
        self.to_measure: list[int] = []
        self.changed = [0, 0]

    def rows(self, data: st.DataObject, among: list[int]) -> list[int]:
        return data.draw(st.lists(st.sampled_from(among), unique=True) if among else st.just([]))

    def change(self, pool: Pool) -> None:
        self.past.append((self.pool, contents(self.pool)))
        self.pool = pool

    @rule(data=st.data())
    def choose(self, data: st.DataObject) -> None:
        known = {*self.labels, *self.measured, *self.pending}
        free = [row for row in range(self.size) if row not in known]
        rows = self.rows(data, free)
        cut = data.draw(st.integers(0, len(rows)))
        self.to_measure, self.pending = rows[:cut], rows
        chosen = np.array(rows[cut:], dtype=np.int64)
        self.change(self.pool.choose(chosen, held=np.array(rows[:cut], dtype=np.int64)))
        chosen[:] = -7  # What the caller does with its own array later is no concern of the pool.

    @rule(data=st.data())
    def reveal(self, data: st.DataObject) -> None:
        given = {row: data.draw(st.integers(0, 2)) for row in self.rows(data, list(range(self.size)))}
        self.change(self.pool.reveal(given))
        chosen_first = sorted(given, key=lambda row: self.pending.index(row) if row in self.pending else self.size)
        for row in chosen_first:
            if row in self.measured or row in self.to_measure:
                self.measured[row] = given[row]
                continue
            if self.labels.get(row) == given[row]:
                continue  # as it was
            self.changed[0] += row in self.labels and row not in self.new
            self.labels.pop(row, None)
            self.labels[row] = given[row]
            self.new.add(row)
        self.pending = self.to_measure = []

    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        rows = self.rows(data, list(range(self.size)))
        self.change(self.pool.withdraw(np.array(rows, dtype=np.int64)))
        for row in rows:
            self.changed[1] += row in self.labels and row not in self.new
            self.labels.pop(row, None)
            self.measured.pop(row, None)
            self.new.discard(row)

    @rule()
    def learnt(self) -> None:
        self.change(self.pool.learnt())
        self.new = set()
        self.changed = [0, 0]

    @invariant()
    def the_pool_is_what_the_lists_say(self) -> None:
        order = list(self.labels)
        assert contents(self.pool) == (
            [{**self.labels, **self.measured}.get(row, UNKNOWN) for row in range(self.size)],
            order,
            len(self.new),
            self.pending,
            [*self.measured, *self.to_measure],
        )
        assert [self.pool.corrected, self.pool.withdrawn] == self.changed
        assert self.pool.newest_rows().tolist() == [row for row in order if row in self.new]
        assert self.pool.older_rows().tolist() == [row for row in order if row not in self.new]
        assert len(self.pool) == len(order)

    @invariant()
    def each_row_is_in_one_place(self) -> None:
        rows = [
            *self.pool.order.tolist(),
            *self.pool.pending.tolist(),
            *self.pool.candidates().tolist(),
            *self.measured,
        ]
        assert sorted(rows) == list(range(self.size))

    @invariant()
    def no_pool_ever_changes(self) -> None:
        for pool, before in self.past:
            assert contents(pool) == before


AnyHistory.TestCase.settings = settings(deadline=None, max_examples=80, stateful_step_count=15)
test_any_history = AnyHistory.TestCase


def test_labels_of_chosen_rows_keep_the_order_in_which_they_were_chosen() -> None:
    pool = Pool.unlabelled(6).choose(np.array([4, 0, 2])).reveal({0: 1, 5: 0, 2: 1, 4: 0})
    assert pool.order.tolist() == [4, 0, 2, 5]


def test_unlabelled_choice_can_be_chosen_again() -> None:
    pool = Pool.unlabelled(3).choose(np.array([0, 1])).reveal({1: 0})
    assert pool.candidates().tolist() == [0, 2]


def test_a_corrected_label_is_new_again() -> None:
    pool = Pool.unlabelled(3).reveal({0: 1, 1: 1}).learnt().reveal({0: 0})
    assert pool.order.tolist() == [1, 0]
    assert pool.newest_rows().tolist() == [0]
    assert pool.labels.tolist() == [0, 1, UNKNOWN]
