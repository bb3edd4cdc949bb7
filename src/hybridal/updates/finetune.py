"""FINETUNE: from the last weights, on everything."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hybridal.updates import Plan, Situation


@dataclass(frozen=True)
class FineTune:
    """Continues from the last round's weights on all labels; the first round starts from the pretrained ones.

    >>> FineTune().spec, FineTune().letter
    ('finetune', 'F')
    """

    name: ClassVar[str] = "finetune"
    letter: ClassVar[str] = "F"
    spec: ClassVar[str] = name
    reason: str = field(default="", kw_only=True, compare=False)

    def plan(self, now: Situation) -> Plan:
        carry = now.rules.moments == "carry"
        return Plan(
            now.resume(),
            now.pool.order,
            dropout=now.rules.dropout != "off",
            moments=now.moments if carry else None,
            keeps_moments=carry,
        )
