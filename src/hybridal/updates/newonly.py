"""NEWONLY: start from the last weights, train on the newest labels only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hybridal.updates import Plan, Situation, Update


@dataclass(frozen=True)
class NewOnly(Update):
    """Continues from the last weights on the newest labels; the first round's newest are the initial pool.

    The published code skips the first round's training, later takes one full-batch step per epoch, and keeps one
    optimiser for the whole run, as does the protocol `reference`.

    >>> NewOnly().spec, NewOnly().letter
    ('newonly', 'N')
    """

    name: ClassVar[str] = "newonly"
    letter: ClassVar[str] = "N"
    spec: ClassVar[str] = name
    reason: str = field(default="", kw_only=True, compare=False)

    def plan(self, now: Situation) -> Plan:
        rows, batch = now.pool.newest_rows(), None
        if now.rules.newonly_round_1 == "skip":
            rows = rows if now.last is not None else rows[:0]
            batch = len(rows) or None
        carry = now.rules.moments == "carry"
        return Plan(
            now.resume(),
            rows,
            dropout=now.rules.dropout == "on",
            batch=batch,
            moments=now.moments if carry else None,
            keeps_moments=carry,
        )
