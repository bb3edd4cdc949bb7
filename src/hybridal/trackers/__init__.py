"""Trackers: where the figures of runs are kept for a team to look at, beside the run folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from hybridal.core.rounds import Round
from hybridal.errors import reason
from hybridal.measures.certainty import shown
from hybridal.registry import Registry


class Tracker(Protocol):
    """Takes the figures of a run, round by round.

    A run that goes on after a stop begins again under the same `id`, and its earlier rounds come again: each counts
    once. `parameters(about)` and `figures(fact)` of `hybridal.trackers` make flat numbers and words of what it gets.
    """

    def begin(self, id: str, name: str, about: Mapping[str, Any]) -> None:
        """A run begins, or goes on; `about` is what its run.json says."""

    def record(self, fact: Round) -> None:
        """The facts of a round are complete."""


TRACKERS: Registry[Tracker] = Registry("trackers", "begin", "record")


class Tracking:
    """Offers the rounds of one run to a tracker, whose failure never costs a round.

    What it could not take is offered again with the next round, so that a server that was away has all of them in the
    end.
    """

    def __init__(
        self, make: Callable[[], Tracker], id: str, name: str, about: Mapping[str, Any], notify: Callable[[str], None]
    ) -> None:
        self._make, self._run, self._notify = make, (id, name, about), notify
        self._tracker: Tracker | None = None
        self._taken = 0
        self._failed = False

    def offer(self, history: Sequence[Round]) -> None:
        """The run's rounds so far, oldest first."""
        try:
            if self._tracker is None:
                tracker = self._make()
                tracker.begin(*self._run)
                self._tracker = tracker
            for fact in history[self._taken :]:
                self._tracker.record(fact)
                self._taken += 1
            self._failed = False
        except Exception as error:  # of whatever package
            if not self._failed:
                self._notify(f"The tracker failed ({reason(error)}); the run goes on, and offers it its rounds again.")
            self._failed = True


def parameters(about: Mapping[str, Any]) -> dict[str, Any]:
    """What a run was asked for, flat: its task and settings, and every field of its protocol.

    >>> settings = {"backbone": "minilm", "schedule": "auto", "acquisition": "entropy", "seed": 42}
    >>> asked = {"settings": settings, "protocol": {"rounds": 8}, "task": {"name": "tickets", "classes": ["a", "b"]}}
    >>> parameters(asked)["classes"], parameters(asked)["rounds"]
    (2, 8)
    """
    settings = {name: about["settings"][name] for name in ("backbone", "schedule", "acquisition", "seed")}
    return {"task": about["task"]["name"], "classes": len(about["task"]["classes"])} | settings | {**about["protocol"]}


def figures(fact: Round) -> dict[str, float]:
    """Every number of a round by name; those that belong together share what stands before the stroke.

    Figures that the texts of a split are too few to tell are left out.

    >>> from hybridal.core.rounds import Cost
    >>> fact = Round(1, "retrain", "R", 50, Cost(steps=9), 1, None, None, None, {"loss": 0.1}, seconds={"train": 2.5})
    >>> found = figures(fact)
    >>> found["labels"], found["cost/steps"], found["changes/loss"], found["seconds/train"]
    (50.0, 9.0, 0.1, 2.5)
    """
    found = {}
    splits = {name: shown(metrics) for name in ("validation", "test", "cross") if (metrics := getattr(fact, name))}
    for part, value in (fact.to_json() | splits).items():
        for name, number in value.items() if isinstance(value, Mapping) else [("", value)]:
            if isinstance(number, int | float) and not isinstance(number, bool):
                found[f"{part}/{name}" if name else part] = float(number)
    return {name: number for name, number in found.items() if name != "round"}


__all__ = ["TRACKERS", "Tracker", "Tracking", "figures", "parameters"]
