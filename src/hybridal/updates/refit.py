"""REFIT: the last weights with a new last layer, and no training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hybridal.updates import Plan, Situation


@dataclass(frozen=True)
class Refit:
    """Keeps the encoder as it is and fits its head to all labels: seconds in place of minutes.

    It takes a protocol whose heads are probes; a head that starts at random is left as it was.

    >>> Refit().spec, Refit().letter
    ('refit', 'H')
    """

    name: ClassVar[str] = "refit"
    letter: ClassVar[str] = "H"
    spec: ClassVar[str] = name
    reason: str = field(default="", kw_only=True, compare=False)

    def plan(self, now: Situation) -> Plan:
        return Plan(now.resume(), now.pool.order[:0])
