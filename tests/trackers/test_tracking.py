from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from hybridal.core.rounds import Cost, LabelChanges, Metrics, Round
from hybridal.errors import UserError
from hybridal.trackers import TRACKERS, Tracking, figures

GOOD = Metrics(40, 36, 0.9, 0.85, 0.4, 0.1, 0.2, 0.35, 0.05, support=(20, 20))


def fact_of(round: int) -> Round:
    return Round(
        round, "retrain", "R" * round, 10 * round, Cost(steps=round), 1, None, GOOD, None, {"loss": None}, ("a",),
        (0.5,), {"train": 0.25}, label_changes=LabelChanges(added=10, last=True, counts=(3, 4)),
    )  # fmt: skip


HISTORY = [fact_of(round) for round in (1, 2, 3, 4)]


class Flaky:
    """A tracker that is away now and then."""

    def __init__(self) -> None:
        self.away = False
        self.begun: list[str] = []
        self.rounds: list[int] = []

    def begin(self, id: str, name: str, about: Mapping[str, Any]) -> None:
        if self.away:
            raise ConnectionError("no route to host.\nReally none")
        self.begun.append(f"{name} {id}")

    def record(self, record: Round) -> None:
        if self.away:
            raise TimeoutError
        self.rounds.append(record.round)


def test_failed_rounds_are_sent_again_with_the_next() -> None:
    tracker, messages = Flaky(), list[str]()
    tracking = Tracking(lambda: tracker, "7", "mail", {}, messages.append)
    tracker.away = True
    tracking.offer([])
    tracking.offer(HISTORY[:1])
    assert messages == ["The tracker failed (no route to host); the run continues and will send these rounds again."]
    tracker.away = False
    tracking.offer(HISTORY[:2])
    assert (tracker.begun, tracker.rounds) == (["mail 7"], [1, 2])
    tracker.away = True
    tracking.offer(HISTORY[:3])
    assert messages[1:] == ["The tracker failed (TimeoutError); the run continues and will send these rounds again."]
    tracker.away = False
    tracking.offer(HISTORY)
    assert (tracker.begun, tracker.rounds) == (["mail 7"], [1, 2, 3, 4])


def test_stopping_by_hand_is_not_taken_for_a_failure() -> None:
    def stopped() -> Flaky:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Tracking(stopped, "7", "mail", {}, print).offer([])


def test_only_numbers_are_sent() -> None:
    found = figures(HISTORY[0])
    assert found["validation/f1"] == 0.85
    assert found["label_changes/added"] == 10
    assert not found.keys() & {"round", "changes/loss", "news/last", "news/counts", "temperature", "test", "acquired"}
    assert all(math.isfinite(number) for number in found.values())


def test_figures_that_cannot_be_known_are_left_out() -> None:
    few = Metrics(8, 8, 1.0, 0.5, 0.1, 0.2, 0.3, 0.1, 0.2, support=(8, 0))
    found = figures(Round(1, "retrain", "R", 50, Cost(), 1, None, few, None, {}))
    assert found["validation/accuracy"] == 1.0
    assert found["validation/accuracy_low"] < 0.7
    assert not {"validation/f1", "validation/f1_low", "validation/ece", "validation/support"} & set(found)


def test_unknown_tracker_gets_the_list() -> None:
    assert TRACKERS.names() == ["mlflow", "tensorboard"]
    with pytest.raises(UserError, match="no tracker named 'mlfow'; did you mean 'mlflow'"):
        TRACKERS.make("mlfow")
