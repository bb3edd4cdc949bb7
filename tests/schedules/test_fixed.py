from __future__ import annotations

import pytest

from hybridal.errors import UserError
from hybridal.schedules import make_schedule
from hybridal.schedules.fixed import FixedSwitch
from hybridal.testing.schedule import fake_history

HISTORY = fake_history((), seed=1)


@pytest.mark.parametrize("k", [1, 2, 5, 12, 40])
def test_fixed_schedule_fine_tunes_from_round_k(k: int) -> None:
    for t in range(1, len(HISTORY) + 1):
        expected = "finetune" if t >= k else "retrain"
        assert FixedSwitch(k).decide(HISTORY[: t - 1]).spec == expected


def test_fixed_schedule_needs_no_signal_and_its_spec_rebuilds_it() -> None:
    assert FixedSwitch(5).watches == ()
    assert make_schedule(FixedSwitch(5).spec) == FixedSwitch(5)


@pytest.mark.parametrize("spec", ["fixed:0", "fixed:-1", "fixed:2.5", "fixed:soon", "fixed", "fixed:1:2"])
def test_invalid_round_is_refused(spec: str) -> None:
    with pytest.raises(UserError, match=f"'{spec}' is not a valid spec"):
        make_schedule(spec)
