"""RETRAIN: start from the pretrained weights, train on all labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hybridal.updates import Plan, Situation, Update


@dataclass(frozen=True)
class Retrain(Update):
    """Starts from the pretrained encoder and a new head (a probe, or the same random one) and trains on all labels.

    >>> Retrain().spec, Retrain().letter
    ('retrain', 'R')
    """

    name: ClassVar[str] = "retrain"
    letter: ClassVar[str] = "R"
    forgets: ClassVar[bool] = True
    spec: ClassVar[str] = name
    reason: str = field(default="", kw_only=True, compare=False)

    def plan(self, now: Situation) -> Plan:
        return Plan(now.start(), now.pool.order, dropout=now.rules.dropout == "on")
