"""A schedule out of a file of the user's own."""

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
    """A schedule whose class nobody registered: what makes it again is its path, whatever it calls itself."""

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
