"""ANCHOR: start between the pretrained and the last weights, train on all labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hybridal.updates import Plan, Situation, Update


@dataclass(frozen=True)
class Anchor(Update):
    """Starts from θ₀ + λ(θ_{t−1} − θ₀): λ = 0 retrains, λ = 1 fine-tunes.

    >>> Anchor(0.6).spec, Anchor(0.6).letter
    ('anchor:0.6', 'A(0.6)')
    """

    share: float = 0.6
    name: ClassVar[str] = "anchor"
    reason: str = field(default="", kw_only=True, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ValueError(f"its share must lie between 0 and 1, not {self.share}")
        # 1 and 1.0 are the same share and must give the same update sequence.
        object.__setattr__(self, "share", float(self.share))

    @property
    def spec(self) -> str:
        return f"anchor:{self.share!r}"

    @property
    def letter(self) -> str:
        return f"A({self.share!r})"

    def plan(self, now: Situation) -> Plan:
        start = now.start()
        if now.last is not None:
            start = {name: first + self.share * (now.last[name] - first) for name, first in start.items()}
        return Plan(start, now.pool.order, dropout=now.rules.dropout == "on")
