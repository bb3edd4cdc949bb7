"""REFIT: the last weights with a new last layer, and no training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hybridal.updates import Plan, Situation, Update
from hybridal.updates.replay import Replay


@dataclass(frozen=True)
class Refit(Update):
    """Keeps the encoder as it is and fits its head to all labels: seconds in place of minutes.

    It takes a protocol whose heads are probes. A head that started at random cannot be fitted by itself: then it
    replays, once over the newest labels and as many older ones.

    >>> Refit().spec, Refit().letter
    ('refit', 'H')
    """

    name: ClassVar[str] = "refit"
    letter: ClassVar[str] = "H"
    spec: ClassVar[str] = name
    reason: str = field(default="", kw_only=True, compare=False)

    def plan(self, now: Situation) -> Plan:
        if now.rules.head == "random":
            return Replay("equal", "balanced", epochs=1).plan(now)
        return Plan(now.resume(), now.pool.order[:0])
