"""FixedSwitch: retrain until a fixed round, then fine-tune."""

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
    """Retrains until a fixed round, then fine-tunes for good (FixedSwitch@k in the paper).

    Its methods and their arguments are those of `Schedule`.

    Attributes:
        first: The first round that fine-tunes, from 1.

    Example:
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
        """Such as `fixed:3`."""
        return f"fixed:{self.first}"

    @property
    def title(self) -> str:
        """Such as `FixedSwitch@3`."""
        return f"FixedSwitch@{self.first}"

    def switch_rounds(self, rounds: int) -> range:
        """Return the one round in which it switches."""
        first = min(self.first, rounds + 1)
        return range(first, first + 1)

    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:  # noqa: ARG002
        """Fine-tune from round `first` on, else retrain."""
        return FineTune() if len(history) + 1 >= self.first else Retrain()
