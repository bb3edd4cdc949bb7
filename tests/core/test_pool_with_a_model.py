"""Labels of a model in the pool: where they count as labels, and where only as evidence about the model."""

from __future__ import annotations

import numpy as np

from hybridal.core.outputs import UNKNOWN
from hybridal.core.pool import Pool


def chosen(size: int, rows: list[int], held: list[int] | None = None) -> Pool:
    return Pool.unlabelled(size).choose(np.array(rows), np.array(held or [], dtype=np.int64))


def test_people_overrule_a_model_whoever_comes_first() -> None:
    first = chosen(4, [0, 1]).reveal({0: 1}, waiting=True).reveal_by_model({0: 0, 1: 0})
    later = chosen(4, [0, 1]).reveal_by_model({0: 0, 1: 0}).reveal({0: 1})
    for pool in (first, later):
        assert pool.labels.tolist() == [1, 0, UNKNOWN, UNKNOWN]
        assert pool.by_model.tolist() == [1]
        assert [part.tolist() for part in pool.compared()] == [[0], [1]]


def test_a_person_who_agrees_makes_the_label_one_of_people() -> None:
    pool = chosen(3, [0]).reveal_by_model({0: 1}).learnt().reveal({0: 1})
    assert not len(pool.by_model)
    assert pool.label_changes().changed == 0
    assert [part.tolist() for part in pool.compared()] == [[1], [1]]


def test_a_model_never_labels_a_validation_text() -> None:
    pool = chosen(4, [0], held=[2]).reveal_by_model({0: 1, 2: 1})
    assert pool.labels[2] == UNKNOWN
    assert not len(pool.held)
    assert pool.by_model.tolist() == [0]


def test_a_text_labelled_by_a_model_can_be_drawn_for_validation_and_people_decide() -> None:
    pool = chosen(4, [0, 1]).reveal_by_model({0: 1, 1: 1}).learnt()
    pool = pool.choose(np.array([2]), held=np.array([0]))
    assert pool.by_model.tolist() == [1]
    assert pool.order.tolist() == [1]
    pool = pool.reveal({0: 0, 2: 0})
    assert pool.measured().tolist() == [0]
    assert [part.tolist() for part in pool.compared()] == [[1], [0]]


def test_random_draws_have_only_labels_of_people_and_all_other_texts_in_their_frame() -> None:
    pool = chosen(6, [0, 1], held=[4]).reveal({4: 0}, waiting=True).reveal_by_model({0: 1, 1: 0})
    pool = pool.choose(np.array([2]), held=np.array([1])).reveal({1: 1, 2: 0})
    first, second = pool.random_draws()
    assert (first.drawn.tolist(), int(first.frame.sum())) == ([4], 6)
    assert second.drawn.tolist() == [1]
    assert np.flatnonzero(second.frame).tolist() == [0, 1, 2, 3, 5], "text 0 has a model's label only"


def test_what_a_model_leaves_to_people_is_no_random_sample() -> None:
    pool = Pool.unlabelled(4).choose(np.array([0, 1]), held=np.array([2]), origin=0).without_random()
    assert [draw.drawn.tolist() for draw in pool.reveal({0: 1, 2: 1}).random_draws()] == [[2]]


def test_withdrawn_labels_of_a_model_leave_candidates() -> None:
    pool = chosen(3, [0, 1]).reveal({1: 0}, waiting=True).reveal_by_model({0: 1})
    assert pool.by_people().order.tolist() == [1]
    assert pool.by_people().candidates().tolist() == [0, 2]
