"""The same update in every round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hybridal.core.rounds import LabelChanges, Round
from hybridal.schedules import Schedule
from hybridal.updates import UPDATES, Update


@dataclass(frozen=True)
class Constant(Schedule):
    """What every other tool does: never ask, always update the same way.

    >>> Constant("retrain").decide([]).letter
    'R'
    """

    update: Update | str
    name: ClassVar[str] = "constant"

    def __post_init__(self) -> None:
        if isinstance(self.update, str):
            object.__setattr__(self, "update", UPDATES.make(self.update))

    @property
    def spec(self) -> str:
        return self.decide(()).spec

    @property
    def title(self) -> str:
        return self.decide(()).title

    def switch_rounds(self, rounds: int) -> range | None:
        first = {"retrain": rounds + 1, "finetune": 1}.get(self.spec)
        return None if first is None else range(first, first + 1)

    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:  # noqa: ARG002
        assert not isinstance(self.update, str)
        return self.update
