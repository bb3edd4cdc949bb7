"""NEWONLY: from the last weights, on the newest batch alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hybridal.updates import Plan, Situation, Update


@dataclass(frozen=True)
class NewOnly(Update):
    """Continues from the last weights on the newest labels; the first round's newest are the initial pool.

    The published code skips the first round's training and later takes one full-batch step an epoch: the protocol
    `reference` does so too.

    >>> NewOnly().spec, NewOnly().letter
    ('newonly', 'N')
    """

    name: ClassVar[str] = "newonly"
    letter: ClassVar[str] = "N"
    spec: ClassVar[str] = name
    reason: str = field(default="", kw_only=True, compare=False)

    def plan(self, now: Situation) -> Plan:
        rows = now.pool.newest_rows()
        dropout = now.rules.dropout == "on"
        if now.rules.newonly_round_1 == "train":
            return Plan(now.resume(), rows, dropout)
        if now.last is None:
            return Plan(now.start(), rows[:0], dropout)
        return Plan(now.last, rows, dropout, batch=len(rows))
