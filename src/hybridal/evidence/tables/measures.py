"""What tables report about runs, and how it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hybridal.evidence.tables._entries import Shown, fixed, percent, seconds

SECONDS_NOTE = "Seconds compare only within one machine; optimiser steps are counted and compare anywhere."


@dataclass(frozen=True)
class Measure:
    """A column of the runs under its title; `higher` says whether more is better, None where neither is."""

    title: str
    column: str
    shown: Shown
    higher: bool | None = False

    @property
    def arrow(self) -> str:
        """The title, and which way is better.

        >>> F1.arrow, T_STAR.arrow
        ('F1 (higher is better)', 'Switch round t*')
        """
        return self.title if self.higher is None else f"{self.title} ({'higher' if self.higher else 'lower'} is better)"

    def on(self, split: str) -> Measure:
        """The measure, with the split that it was taken on.

        >>> F1.on("test").title
        'Test F1'
        """
        return replace(self, title=f"{split.capitalize()} {self.title}")


F1 = Measure("F1", "f1", fixed(3), higher=True)
NLL = Measure("NLL", "nll", fixed(3))
ECE = Measure("ECE", "ece", percent(1))
STEPS = Measure("Optimiser steps", "steps", fixed(0))
SECONDS = Measure("Training seconds", "training_time", seconds)
EPOCHS = Measure("Epochs a round", "epochs_a_round", fixed(2))
FIRE_RATE = Measure("Fire rate", "fired", percent(), higher=None)
T_STAR = Measure("Switch round t*", "t_star", fixed(1), higher=None)

# The counted cost first, the seconds right after it.
COST = (STEPS, SECONDS)


def seeds_said(rows: Sequence[dict[str, int]]) -> str:
    """How many seeds cells have.

    >>> cell = {"task": 1, "backbone": 1, "acquisition": 1, "variant": 1, "schedule": 1}
    >>> seeds_said([{**cell, "seed": 1}, {**cell, "seed": 2}]), seeds_said([{**cell, "seed": 1}])
    ('2 seeds', 'one seed')
    """
    cells: dict[tuple[int, ...], int] = {}
    for row in rows:
        key = tuple(row[name] for name in ("task", "backbone", "acquisition", "variant", "schedule"))
        cells[key] = cells.get(key, 0) + 1
    fewest, most = min(cells.values()), max(cells.values())
    if fewest == most:
        return "one seed" if most == 1 else f"{most} seeds"
    return f"{fewest} to {most} seeds"
