"""REPLAY: start from the last weights, train on the newest labels and some older ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hybridal.core.outputs import Ints
from hybridal.updates import Plan, Situation, Update, check_epochs


@dataclass(frozen=True)
class Replay(Update):
    """Continues from the last weights on the newest labels and `older` others: a number, or equally many ("equal").

    The others are drawn at random, or "balanced": from the classes that have the fewest labels in the round. `epochs`
    None takes the protocol's number; so does the first training in any case.

    >>> Replay(96).spec, Replay(96).letter, Replay("equal", "balanced", 1).spec
    ('replay:96', 'P(96)', 'replay:equal:balanced:1')
    """

    older: int | str = 96
    draw: str = "random"
    epochs: int | None = None
    name: ClassVar[str] = "replay"
    reason: str = field(default="", kw_only=True, compare=False)

    def __post_init__(self) -> None:
        if self.older != "equal" and (not isinstance(self.older, int) or self.older < 0):
            raise ValueError(f"the number of older labels must be a whole number from 0 on, or equal, not {self.older}")
        if self.draw not in ("random", "balanced"):
            raise ValueError(f"older labels are drawn random or balanced, not {self.draw}")
        check_epochs(self.epochs)

    @property
    def spec(self) -> str:
        return ":".join(["replay", *self._arguments])

    @property
    def letter(self) -> str:
        return f"P({','.join(self._arguments)})"

    @property
    def _arguments(self) -> list[str]:
        draw = [self.draw] if self.draw == "balanced" or self.epochs else []
        return [str(self.older), *draw, *([str(self.epochs)] if self.epochs else [])]

    def plan(self, now: Situation) -> Plan:
        older, newest = now.pool.older_rows(), now.pool.newest_rows()
        wanted = min(len(newest) if self.older == "equal" else int(self.older), len(older))
        if self.draw == "balanced":
            drawn = balanced(older, now.pool.rarest_class(), newest, wanted, now.rng)
        else:
            drawn = now.rng.choice(older, size=wanted, replace=False)
        rows = np.concatenate([drawn, newest])
        epochs = self.epochs if len(older) else None
        return Plan(now.resume(), rows, dropout=now.rules.dropout == "on", epochs=epochs)


def balanced(older: Ints, labels: Ints, newest: Ints, wanted: int, rng: np.random.Generator) -> Ints:
    """Draw `wanted` of the older rows so that, with the newest rows, all classes are about equally frequent."""
    counts = np.bincount(labels[newest], minlength=int(labels.max()) + 1)
    turn = np.empty(len(older), dtype=np.int64)
    order = rng.permutation(len(older))
    for row in order:
        # A row that would be the k-th of its class is taken in turn k, as in dealing cards to the classes.
        label = labels[older[row]]
        turn[row] = counts[label]
        counts[label] += 1
    return older[order[np.argsort(turn[order], kind="stable")[:wanted]]]
