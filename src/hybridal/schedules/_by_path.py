"""A schedule of the user's that is given by the path of its class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hybridal.core.rounds import LabelChanges, Round
from hybridal.schedules import Rule, Schedule
from hybridal.signals import Signal
from hybridal.updates import Update


@dataclass(frozen=True)
class ByPath(Schedule):
    """Wraps a schedule whose class is not registered, so that its spec is the path and not the name it gives itself."""

    schedule: Schedule
    path: str
    name: ClassVar[str] = "by-path"

    @property
    def spec(self) -> str:
        return self.path

    @property
    def watches(self) -> tuple[Signal, ...]:
        return self.schedule.watches

    @property
    def title(self) -> str:
        return self.schedule.title

    @property
    def rule(self) -> Rule | None:
        return self.schedule.rule

    def t_star(self, history: Sequence[Round]) -> int | None:
        return self.schedule.t_star(history)

    def switch_rounds(self, rounds: int) -> range | None:
        return self.schedule.switch_rounds(rounds)

    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:
        return self.schedule.decide(history, label_changes)
