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
    """Trains in the same way in every round.

    Its methods and their arguments are those of `Schedule`.

    Attributes:
        update: The update, or its spec.

    Example:
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
        """The spec of the update."""
        return self.decide(()).spec

    @property
    def title(self) -> str:
        """The title of the update."""
        return self.decide(()).title

    def switch_rounds(self, rounds: int) -> range | None:
        """Return the round after the last for RETRAIN (never), the first for FINETUNE, None for other updates."""
        first = {"retrain": rounds + 1, "finetune": 1}.get(self.spec)
        return None if first is None else range(first, first + 1)

    def decide(self, history: Sequence[Round], label_changes: LabelChanges | None = None) -> Update:  # noqa: ARG002
        """Return the update."""
        assert not isinstance(self.update, str)
        return self.update
