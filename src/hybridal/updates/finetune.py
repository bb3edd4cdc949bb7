"""FINETUNE: start from the last weights, train on all labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hybridal.updates import Plan, Situation, Update, check_epochs


@dataclass(frozen=True)
class FineTune(Update):
    """Continues from the last round's weights on all labels; the first round starts from the pretrained ones.

    `epochs` None takes the protocol's number; so does the first training in any case.

    >>> FineTune().spec, FineTune().letter, FineTune(2).spec, FineTune(2).letter
    ('finetune', 'F', 'finetune:2', 'F(2)')
    """

    epochs: int | None = None
    name: ClassVar[str] = "finetune"
    reason: str = field(default="", kw_only=True, compare=False)

    def __post_init__(self) -> None:
        check_epochs(self.epochs)

    @property
    def letter(self) -> str:
        return f"F({self.epochs})" if self.epochs else "F"

    @property
    def spec(self) -> str:
        return f"finetune:{self.epochs}" if self.epochs else "finetune"

    def plan(self, now: Situation) -> Plan:
        carry = now.rules.moments == "carry"
        return Plan(
            now.resume(),
            now.pool.order,
            dropout=now.rules.dropout != "off",
            epochs=None if now.last is None else self.epochs,
            moments=now.moments if carry else None,
            keeps_moments=carry,
        )
