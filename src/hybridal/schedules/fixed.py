"""Retrain until a round that was chosen beforehand, then fine-tune."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from hybridal.core.rounds import LabelChanges, Round
from hybridal.schedules import Schedule
from hybridal.updates import Update
from hybridal.updates.finetune import FineTune
from hybridal.updates.retrain import Retrain


@dataclass(frozen=True)
class FixedSwitch(Schedule):
    """Fine-tunes from round `first` on, as FixedSwitch@k of the paper does.

    >>> [FixedSwitch(3).decide([None] * t).letter for t in range(4)]
    ['R', 'R', 'F', 'F']
    """

    first: int
    name: ClassVar[str] = "fixed"

    def __post_init__(self) -> None:
        if not isinstance(self.first, int) or self.first < 1:
            raise ValueError(f"the switch round must be a whole number from 1 on, not {self.first}")

    @property
    def spec(self) -> str:
        return f"fixed:{self.first}"

    @property
    def title(self) -> str:
        return f"FixedSwitch@{self.first}"

    def switch_rounds(self, rounds: int) -> range:
        first = min(self.first, rounds + 1)
        return range(first, first + 1)

    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:  # noqa: ARG002
        return FineTune() if len(history) + 1 >= self.first else Retrain()
