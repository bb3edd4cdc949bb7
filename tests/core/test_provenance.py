"""Each label knows how its text was drawn, through every change of the pool."""

from __future__ import annotations

import numpy as np

from hybridal.core.pool import Pool
from hybridal.core.provenance import BROUGHT, CHOSEN, NOT_DRAWN, RANDOM, random_draws


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def test_labels_that_nobody_asked_for_were_brought_along() -> None:
    pool = Pool.unlabelled(6).choose(rows(3), held=rows(1)).reveal({3: 0, 1: 1, 5: 0})
    assert pool.origins.tolist() == [NOT_DRAWN, 0, NOT_DRAWN, CHOSEN, NOT_DRAWN, BROUGHT]


def test_a_correction_keeps_the_origin_and_a_withdrawal_forgets_it() -> None:
    pool = Pool.unlabelled(6).choose(rows(3), held=rows(1)).reveal({3: 0, 1: 1})
    assert pool.reveal({1: 0, 3: 1}).origins.tolist() == pool.origins.tolist()
    gone = pool.withdraw(rows(1))
    assert gone.origins[1] == NOT_DRAWN
    assert gone.reveal({1: 1}).origins[1] == BROUGHT


def test_texts_without_an_answer_leave_the_draw() -> None:
    pool = Pool.unlabelled(6).choose(rows(3), held=rows(1, 2)).reveal({2: 0})
    assert pool.origins.tolist() == [NOT_DRAWN, NOT_DRAWN, 0, NOT_DRAWN, NOT_DRAWN, NOT_DRAWN]
    waiting = Pool.unlabelled(6).choose(rows(3), held=rows(1, 2)).reveal({2: 0}, waiting=True)
    assert waiting.reveal({1: 0}).origins.tolist() == [NOT_DRAWN, 0, 0, NOT_DRAWN, NOT_DRAWN, NOT_DRAWN]


def test_a_repeated_query_is_the_same_draw() -> None:
    once = Pool.unlabelled(6).choose(rows(3), held=rows(1, 2))
    twice = once.choose(rows()).choose(rows(3), held=rows(1, 2))
    assert twice.origins.tolist() == once.origins.tolist()


def test_what_was_labelled_before_a_draw_is_not_in_its_frame() -> None:
    pool = Pool.unlabelled(8).reveal({0: 1})
    pool = pool.choose(rows(3), held=rows(1)).reveal({3: 0, 1: 1})
    pool = pool.choose(rows(4), held=rows(2)).reveal({4: 0, 2: 1}).reveal({5: 0})
    first, second = pool.random_draws()
    assert np.flatnonzero(~first.frame).tolist() == [0]
    assert np.flatnonzero(~second.frame).tolist() == [0, 1, 3]
    assert (first.drawn.tolist(), second.drawn.tolist()) == ([1], [2])


def test_a_draw_whose_only_label_was_withdrawn_keeps_its_place() -> None:
    pool = Pool.unlabelled(8).choose(rows(3), held=rows(1)).reveal({3: 0, 1: 1}).withdraw(rows(1))
    pool = pool.choose(rows(), held=rows(2)).reveal({2: 0})
    (draw,) = pool.random_draws()
    assert np.flatnonzero(~draw.frame).tolist() == [3], "what was labelled before could not be drawn"


def test_texts_that_were_left_out_belong_to_no_frame() -> None:
    pool = Pool.unlabelled(5).choose(rows(), held=rows(1, 2)).reveal({1: 0, 2: 1}).leave_out(rows(2, 4))
    (draw,) = pool.random_draws()
    assert (np.flatnonzero(draw.frame).tolist(), draw.drawn.tolist()) == ([0, 1, 3], [1])


def test_a_random_acquisition_is_a_random_draw() -> None:
    pool = Pool.unlabelled(6).choose(rows(3, 5), held=rows(1), origin=RANDOM).reveal({3: 0, 1: 1, 5: 1})
    (draw,) = pool.random_draws()
    assert draw.drawn.tolist() == [1, 3, 5]
    assert draw.probability == 0.5


def test_no_random_label_no_draw() -> None:
    assert random_draws(rows(CHOSEN, NOT_DRAWN), rows(0, 9), np.ones(2, dtype=bool)) == []
