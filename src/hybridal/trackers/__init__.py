"""Trackers: send the metrics of runs to MLflow or TensorBoard."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from hybridal.core.rounds import Round
from hybridal.errors import reason
from hybridal.measures.certainty import shown
from hybridal.registry import Registry


class Tracker(Protocol):
    """Receives the metrics of a run, round by round, to log them somewhere else too.

    `begin` is called once before the first round, `record` after each round. A resumed run calls `begin` with the same
    `id` and sends its earlier rounds again, so record each round only once. An exception never ends the run: it is
    logged, and the rounds are sent again later. `parameters(about)` and `figures(round)` of `hybridal.trackers` turn
    the arguments into flat values.

    Example:
        >>> class Printer:
        ...     def begin(self, id: str, name: str, about: Mapping[str, Any]) -> None:
        ...         print(f"run {name}")
        ...     def record(self, record: Round) -> None:
        ...         print(f"round {record.round}: {record.labels} labels")
        >>> from hybridal.testing import fake_history
        >>> tracker: Tracker = Printer()
        >>> tracker.begin("3f9a", "tickets", {})
        run tickets
        >>> tracker.record(fake_history((), seed=1, rounds=1)[0])
        round 1: 232 labels
    """

    def begin(self, id: str, name: str, about: Mapping[str, Any]) -> None:
        """Start or resume a run.

        Args:
            id: The run's identifier, the same when it is resumed.
            name: The run's name, that of its folder.
            about: The contents of its run.json: settings, protocol, task, versions and hardware.
        """

    def record(self, record: Round) -> None:
        """Log one round.

        Args:
            record: The complete record of the round.
        """


TRACKERS: Registry[Tracker] = Registry("trackers", "begin", "record")


class Tracking:
    """Sends the rounds of one run to a tracker; failures are reported and never end the run.

    Rounds that could not be sent are sent again with the next one, so a server that was down gets all of them.
    """

    def __init__(
        self, make: Callable[[], Tracker], id: str, name: str, about: Mapping[str, Any], notify: Callable[[str], None]
    ) -> None:
        """Prepare sending; the tracker is created with the first rounds."""
        self._make, self._run, self._notify = make, (id, name, about), notify
        self._tracker: Tracker | None = None
        self._taken = 0
        self._failed = False

    def offer(self, history: Sequence[Round]) -> None:
        """Send the rounds that the tracker has not recorded; `history` has all rounds so far."""
        try:
            if self._tracker is None:
                tracker = self._make()
                tracker.begin(*self._run)
                self._tracker = tracker
            for record in history[self._taken :]:
                self._tracker.record(record)
                self._taken += 1
            self._failed = False
        except Exception as error:  # of whatever package
            if not self._failed:
                self._notify(
                    f"The tracker failed ({reason(error)}); the run continues and will send these rounds again."
                )
            self._failed = True


def parameters(about: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten the settings of a run: task, components and all fields of the protocol.

    >>> settings = {"backbone": "minilm", "schedule": "auto", "acquisition": "entropy", "seed": 42}
    >>> asked = {"settings": settings, "protocol": {"rounds": 8}, "task": {"name": "tickets", "classes": ["a", "b"]}}
    >>> parameters(asked)["classes"], parameters(asked)["rounds"]
    (2, 8)
    """
    settings = {name: about["settings"][name] for name in ("backbone", "schedule", "acquisition", "seed")}
    return {"task": about["task"]["name"], "classes": len(about["task"]["classes"])} | settings | {**about["protocol"]}


def figures(record: Round) -> dict[str, float]:
    """Flatten the numbers of a round to names such as `cost/steps`.

    Metrics for which a split has too few texts are omitted.

    >>> from hybridal.core.rounds import Cost
    >>> record = Round(1, "retrain", "R", 50, Cost(steps=9), 1, None, None, None, {"loss": 0.1}, seconds={"train": 2.5})
    >>> found = figures(record)
    >>> found["labels"], found["cost/steps"], found["changes/loss"], found["seconds/train"]
    (50.0, 9.0, 0.1, 2.5)
    """
    found = {}
    splits = {name: shown(metrics) for name in ("validation", "test", "cross") if (metrics := getattr(record, name))}
    for part, value in (record.to_json() | splits).items():
        for name, number in value.items() if isinstance(value, Mapping) else [("", value)]:
            if isinstance(number, int | float) and not isinstance(number, bool):
                found[f"{part}/{name}" if name else part] = float(number)
    return {name: number for name, number in found.items() if name != "round"}


__all__ = ["TRACKERS", "Tracker", "Tracking", "figures", "parameters"]
