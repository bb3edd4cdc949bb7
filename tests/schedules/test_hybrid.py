from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridal.core.rounds import Round
from hybridal.errors import UserError
from hybridal.schedules import make_schedule
from hybridal.schedules.hybrid import HybridAL
from hybridal.signals import SIGNALS
from hybridal.signals.accuracy import Accuracy
from hybridal.testing.schedule import fake_history

BLANK = fake_history((), seed=1, rounds=1)[0]


def rounds_with(changes: list[float | None]) -> list[Round]:
    return [replace(BLANK, round=t, changes={"accuracy": c, "loss": 9.0}) for t, c in enumerate(changes, start=1)]


def algorithm_1(changes: list[float | None], epsilon: float, k: int) -> list[str]:
    """The strategy s at the start of each round 1 to T + 1; a change that is undefined is not below ε."""
    s, stable_count, strategies = "retrain", 0, []
    for change in changes:
        strategies.append(s)
        if change is not None and change < epsilon:
            stable_count += 1
            if stable_count >= k and s == "retrain":
                s = "finetune"
        else:
            stable_count = 0
    return [*strategies, s]


NEAR = [0.0, math.nextafter(0.01, 0), 0.01, math.nextafter(0.01, 1), 0.02]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(NEAR), max_size=12), st.integers(1, 4))
def test_hybrid_schedule_decides_as_algorithm_1(changes: list[float], k: int) -> None:
    history = rounds_with([None, *changes])
    schedule = HybridAL("accuracy", 0.01, k)
    decided = [schedule.decide(history[:t]).spec for t in range(len(history) + 1)]
    assert decided == algorithm_1([None, *changes], 0.01, k)
    t_star = schedule.t_star(history)
    assert t_star == (decided.index("finetune") if "finetune" in decided else None)


def test_hybrid_schedule_never_switches_back() -> None:
    history = rounds_with([None, 0.0, 0.0, 0.5, 0.5])
    assert HybridAL("accuracy", 0.01, 2).decide(history).spec == "finetune"


def test_hybrid_schedule_reads_its_own_signal() -> None:
    history = rounds_with([None, 0.0, 0.0])
    assert HybridAL("loss", 0.01, 2).t_star(history) is None
    assert HybridAL("accuracy", 0.01, 2).t_star(history) == 3


@pytest.mark.parametrize("name", SIGNALS.names())
def test_epsilon_and_patience_are_the_signal_s_own_unless_given(name: str) -> None:
    signal = SIGNALS.make(name)
    schedule = HybridAL(name)
    assert (schedule.epsilon, schedule.patience, schedule.watches) == (signal.epsilon, signal.patience, (signal,))
    assert make_schedule(schedule.spec) == schedule
    changed = HybridAL(name, 0.125, 7)
    assert (changed.epsilon, changed.patience) == (0.125, 7)
    assert make_schedule(changed.spec) == changed


def test_a_signal_may_be_given_as_itself() -> None:
    assert HybridAL(Accuracy()) == HybridAL("accuracy") == HybridAL()


@settings(deadline=None)
@given(st.floats(min_value=0, exclude_min=True, allow_infinity=False), st.integers(1, 99))
def test_a_spec_carries_every_bit_of_epsilon(epsilon: float, patience: int) -> None:
    again: Any = make_schedule(HybridAL("accuracy", epsilon, patience).spec)
    assert (again.epsilon, again.patience) == (epsilon, patience)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hybrid:accuracy:0", "`epsilon` must be"),
        ("hybrid:accuracy:-1", "`epsilon` must be"),
        ("hybrid:accuracy:nan", "`epsilon` must be"),
        ("hybrid:accuracy:inf", "`epsilon` must be"),
        ("hybrid:accuracy:small", "'hybrid:accuracy:small' is not a valid spec"),
        ("hybrid:accuracy:0.1:0", "`patience` must be"),
        ("hybrid:accuracy:0.1:2.5", "`patience` must be a whole number, not 2.5"),
        ("hybrid:accuracy:0.1:inf", "`patience` must be a whole number, not inf"),
        ("hybrid:accuracy:0.1:long", "`patience` must be a whole number, not long"),
        ("hybrid:accuracy:0.1:2:3", "is not a valid spec"),
        ("hybrid:acuracy", "did you mean 'accuracy'"),
        ("hybrid:3", "is not a valid spec|no signal"),
    ],
)
def test_invalid_threshold_or_patience_is_refused(spec: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_schedule(spec)
