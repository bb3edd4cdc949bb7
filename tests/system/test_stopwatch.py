from __future__ import annotations

import pytest

from hybridal.system.stopwatch import Stopwatch


class Clock:
    """A clock that is moved by hand, and remembers who looked at it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.events: list[str] = []

    def read(self) -> float:
        self.events.append("read")
        return self.now

    def synchronise(self) -> None:
        self.events.append("synchronise")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("hybridal.system.stopwatch.time.perf_counter", clock.read)
    return clock


def test_a_phase_adds_up(clock: Clock) -> None:
    watch = Stopwatch()
    for phase, seconds in (("train", 2.0), ("validate", 8.0), ("train", 3.0)):
        with watch(phase):
            clock.now += seconds
        clock.now += 100.0
    assert watch.seconds == {"train": 5.0, "validate": 8.0}


def test_seconds_measured_elsewhere_are_added(clock: Clock) -> None:
    watch = Stopwatch()
    with watch("train"):
        clock.now += 2.0
    watch.add({"train": 3.0, "validate": 8.0})
    assert watch.seconds == {"train": 5.0, "validate": 8.0}


def test_device_is_synchronised_before_each_reading(clock: Clock) -> None:
    watch = Stopwatch(clock.synchronise)
    with watch("train"):
        clock.events.append("work")
    assert clock.events == ["synchronise", "read", "work", "synchronise", "read"]


def test_a_phase_that_fails_took_its_time_too(clock: Clock) -> None:
    watch = Stopwatch()

    def fail() -> None:
        clock.now += 4.0
        raise KeyError

    with pytest.raises(KeyError), watch("train"):
        fail()
    assert watch.seconds == {"train": 4.0}


def test_phases_may_lie_inside_each_other(clock: Clock) -> None:
    watch = Stopwatch()
    with watch("all"):
        clock.now += 1.0
        with watch("part"):
            clock.now += 2.0
    assert watch.seconds == {"part": 2.0, "all": 3.0}
