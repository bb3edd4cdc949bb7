"""The checks for schedules."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hybridal.core.rounds import Cost, Metrics, Round
from hybridal.testing.common import check_configuration, ensure, globals_untouched

if TYPE_CHECKING:
    from hybridal.schedules import Schedule
    from hybridal.signals import Signal

ROUNDS = 12


def fake_history(signals: tuple[Signal, ...], seed: int, rounds: int = ROUNDS) -> list[Round]:
    """Create rounds whose signals stabilise: changes above ε in the first half, below ε in the second.

    Args:
        signals: The signals whose changes are recorded.
        seed: The seed of the changes and metrics.
        rounds: How many rounds to create.

    Returns:
        The records, oldest first.

    Example:
        >>> [record.update_sequence for record in fake_history((), seed=1, rounds=3)]
        ['R', 'RR', 'RRR']
    """
    rng = np.random.default_rng(seed)
    history = []
    for t in range(1, rounds + 1):
        calm = 2.0 ** (rounds / 2 - t)
        changes = {s.name: None if t == 1 else s.epsilon * calm * float(rng.uniform(0.5, 2.0)) for s in signals}
        right = int(rng.integers(50, 100))
        metrics = Metrics(100, right, right / 100, right / 100, 0.5, 0.1, 0.4, 0.5, 0.1)
        history.append(
            Round(
                round=t, update="retrain", update_sequence="R" * t, labels=200 + 32 * t, cost=Cost(30, 480, 9000, 3),
                kept_epoch=1, temperature=1.5, validation=metrics, test=metrics, changes=changes,
                acquired=(f"text-{t}",), scores=(0.5,), seconds={"train": float(rng.random())},
            )
        )  # fmt: skip
    return history


def check_schedule(make: Callable[[], Schedule]) -> None:
    """Check a schedule: a valid spec, decisions that depend on the history alone, a t* that stays.

    Args:
        make: The class, or a function that creates the schedule.

    Raises:
        AssertionError: A check failed.

    Example:
        >>> from hybridal.schedules.fixed import FixedSwitch
        >>> check_schedule(lambda: FixedSwitch(3))
    """
    from hybridal.schedules import SCHEDULES, make_schedule

    schedule = check_configuration(make, "decide")
    ensure(isinstance(schedule.spec, str) and bool(schedule.spec), f"{schedule.name}: needs a `spec`, a text")
    whole = isinstance(schedule.watches, tuple) and all(hasattr(signal, "snapshot") for signal in schedule.watches)
    ensure(whole, f"{schedule.name}: `watches` must be a tuple of signals, not {schedule.watches!r:.60}")
    watched = [signal.name for signal in schedule.watches]
    ensure(len(set(watched)) == len(watched), f"{schedule.name}: must not watch two signals of one name")
    ensure(bool(schedule.title), f"{schedule.name}: must have a title, for tables and figures")
    if schedule.name in SCHEDULES.names():
        ensure(make_schedule(schedule.spec) == schedule, f"{schedule.name}: its spec must make it again")
    with globals_untouched(schedule.name):
        for seed in (1, 2):
            history = fake_history(schedule.watches, seed)
            for t in range(len(history) + 1):
                _check_decision(schedule, make(), history[:t])
            _check_switch(schedule, history)


def _check_decision(schedule: Schedule, other: Schedule, history: list[Round]) -> None:
    name, before = schedule.name, copy.deepcopy(history)
    update = schedule.decide(history)
    whole = bool(getattr(update, "spec", None) and getattr(update, "letter", None))
    ensure(whole, f"{name}: must decide for an update with a spec and a letter, not {update!r:.60}")
    ensure(history == before, f"{name}: must not change the history")
    # A schedule with memory would decide differently after a resume, one that uses times on another machine.
    for case, records in {
        "called again": history,
        "given a tuple": tuple(history),
        "given records from a file": [Round.from_json(json.loads(json.dumps(record.to_json()))) for record in history],
        "on a slower machine": [replace(record, seconds={"train": 1e6}) for record in history],
    }.items():
        for one in (schedule, other):
            ensure(one.decide(records).spec == update.spec, f"{name}: must decide the same when {case}")


def _check_switch(schedule: Schedule, history: list[Round]) -> None:
    found = [schedule.t_star(history[:t]) for t in range(len(history) + 1)]
    for t_star in found:
        ensure(
            t_star is None or type(t_star) is int, f"{schedule.name}: t* must be a round or None, not {t_star!r:.60}"
        )
    switch = found[-1]
    expected = [switch if switch is not None and t >= switch else None for t in range(len(history) + 1)]
    ensure(found == expected, f"{schedule.name}: its t* must be known from that round on, and stay")
