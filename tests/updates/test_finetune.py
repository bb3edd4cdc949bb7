from __future__ import annotations

import pytest

from hybridal.updates.finetune import FineTune

from .conftest import MOMENTS, Situate


@pytest.mark.parametrize("rules", ["paper", "reference"])
def test_finetune_continues_on_all_labels(situate: Situate, rules: str) -> None:
    now = situate(rules)
    plan = FineTune().plan(now)
    assert plan.weights is now.last
    assert plan.rows.tolist() == [4, 1, 0, 5, 2]
    assert plan.batch is None


def test_the_first_round_starts_from_the_pretrained_weights(situate: Situate) -> None:
    now = situate(first=True)
    plan = FineTune().plan(now)
    assert plan.weights is now.start()
    assert plan.moments is None


@pytest.mark.parametrize(("dropout", "expected"), [("on", True), ("off", False), ("finetune", True)])
def test_finetune_dropout_follows_the_rules(situate: Situate, dropout: str, expected: bool) -> None:
    assert FineTune().plan(situate(dropout=dropout)).dropout is expected


def test_the_paper_s_optimiser_is_fresh_each_round(situate: Situate) -> None:
    plan = FineTune().plan(situate("paper"))
    assert (plan.moments, plan.keeps_moments) == (None, False)


def test_published_optimiser_is_kept_between_rounds(situate: Situate) -> None:
    plan = FineTune().plan(situate("reference"))
    assert (plan.moments, plan.keeps_moments) == (MOMENTS, True)


def test_the_published_optimiser_is_fresh_at_the_switch(situate: Situate) -> None:
    # RETRAIN does not keep its moments, so a round after it finds none.
    now = situate("reference")
    plan = FineTune().plan(type(now)(now.prepare, now.last, None, now.pool, now.rules, now.rng))
    assert (plan.moments, plan.keeps_moments) == (None, True)


def test_epochs_of_its_own_but_for_the_first_training(situate: Situate) -> None:
    assert [FineTune(2).plan(situate(first=first)).epochs for first in (False, True)] == [2, None]
    assert FineTune().plan(situate()).epochs is None
    with pytest.raises(ValueError, match="its epochs must be a whole number from 1 on, not 0"):
        FineTune(0)
