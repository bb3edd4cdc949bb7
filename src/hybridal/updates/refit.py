"""REFIT: keep the last weights and fit a new head, without training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hybridal.updates import Plan, Situation, Update
from hybridal.updates.replay import Replay


@dataclass(frozen=True)
class Refit(Update):
    """Keeps the encoder as it is and fits its head to all labels, which takes seconds instead of minutes.

    It needs a protocol with `head: probe`. With a head that starts at random it replays instead: one epoch over the
    newest labels and equally many older ones.

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
