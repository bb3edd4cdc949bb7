from __future__ import annotations

from hybridal.updates.refit import Refit

from .conftest import Situate


def test_refit_keeps_the_last_weights_and_trains_nothing(situate: Situate) -> None:
    now = situate("best")
    plan = Refit().plan(now)
    assert plan.weights is now.last
    assert len(plan.rows) == 0


def test_a_head_that_started_at_random_learns_by_a_replay(situate: Situate) -> None:
    plan = Refit().plan(situate("paper"))
    assert (sorted(plan.rows.tolist()), plan.epochs) == ([0, 1, 2, 4, 5], 1)


def test_in_the_first_round_it_starts_from_the_pretrained_ones(situate: Situate) -> None:
    now = situate(first=True)
    assert Refit().plan(now).weights is now.start()
