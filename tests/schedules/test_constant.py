from __future__ import annotations

import pytest

from hybridal.errors import UserError
from hybridal.schedules.constant import Constant
from hybridal.testing.schedule import fake_history
from hybridal.updates.anchor import Anchor


def test_constant_schedule_ignores_the_history() -> None:
    history = fake_history((), seed=1)
    schedule = Constant("newonly")
    assert {schedule.decide(history[:t]).spec for t in range(len(history) + 1)} == {"newonly"}
    assert schedule.watches == ()


def test_an_update_may_be_given_as_itself_or_by_its_spec() -> None:
    assert Constant("anchor:0.25") == Constant(Anchor(0.25))
    assert Constant("anchor:0.25").spec == "anchor:0.25"


def test_wrong_type_of_update_is_refused() -> None:
    with pytest.raises(UserError, match="no update named 'retrian'; did you mean 'retrain'"):
        Constant("retrian")
