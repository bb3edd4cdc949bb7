from __future__ import annotations

import pytest

from hybridal.updates.newonly import NewOnly

from .conftest import Situate


def test_newonly_continues_on_the_newest_batch(situate: Situate) -> None:
    now = situate()
    plan = NewOnly().plan(now)
    assert plan.weights is now.last
    assert plan.rows.tolist() == [0, 5, 2]
    assert (plan.batch, plan.moments, plan.keeps_moments) == (None, None, False)


def test_the_first_round_s_newest_are_the_initial_pool(situate: Situate) -> None:
    now = situate(first=True)
    plan = NewOnly().plan(now)
    assert plan.weights is now.start()
    assert plan.rows.tolist() == now.pool.order.tolist()
    assert plan.batch is None


def test_the_published_code_does_not_train_in_the_first_round(situate: Situate) -> None:
    now = situate("reference", first=True)
    plan = NewOnly().plan(now)
    assert plan.weights is now.start()
    assert plan.rows.tolist() == []


def test_the_published_code_later_takes_one_step_an_epoch(situate: Situate) -> None:
    now = situate("reference")
    plan = NewOnly().plan(now)
    assert plan.weights is now.last
    assert plan.rows.tolist() == [0, 5, 2]
    assert plan.batch == 3


def test_published_optimiser_is_kept_between_rounds(situate: Situate) -> None:
    now = situate("reference")
    plan = NewOnly().plan(now)
    assert plan.moments is now.moments
    assert plan.keeps_moments


@pytest.mark.parametrize(("dropout", "expected"), [("on", True), ("off", False), ("finetune", False)])
@pytest.mark.parametrize("newonly_round_1", ["train", "skip"])
@pytest.mark.parametrize("first", [True, False])
def test_dropout_is_off_where_only_fine_tuning_has_it(
    situate: Situate, dropout: str, expected: bool, newonly_round_1: str, first: bool
) -> None:
    now = situate("paper", first, dropout=dropout, newonly_round_1=newonly_round_1)
    assert NewOnly().plan(now).dropout is expected
