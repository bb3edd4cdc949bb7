"""REPLAY: from the last weights, on the newest batch and some older labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hybridal.updates import Plan, Situation


@dataclass(frozen=True)
class Replay:
    """Continues from the last weights on the newest labels and `older` random others.

    >>> Replay(96).spec, Replay(96).letter
    ('replay:96', 'P(96)')
    """

    older: int = 96
    name: ClassVar[str] = "replay"

    def __post_init__(self) -> None:
        if not isinstance(self.older, int) or self.older < 0:
            raise ValueError(f"the number of older labels must be a whole number from 0 on, not {self.older}")

    @property
    def spec(self) -> str:
        return f"replay:{self.older}"

    @property
    def letter(self) -> str:
        return f"P({self.older})"

    def plan(self, now: Situation) -> Plan:
        older = now.pool.older_rows()
        drawn = now.rng.choice(older, size=min(self.older, len(older)), replace=False)
        rows = np.concatenate([drawn, now.pool.newest_rows()])
        return Plan(now.last or now.pretrained, rows, dropout=now.rules.dropout == "on")
