"""The (ε, k) settings of a signal, and what the paper's rule chooses among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from hybridal.evidence.statistics.tuning import Selection, Setting, select
from hybridal.evidence.tables._runs import Run, cell_of, hybrids, those
from hybridal.evidence.tables.measures import COST

Name = tuple[float, int]
COLUMNS = {"F1": "validation_f1", "NLL": "validation_nll", **{cost.title: cost.column for cost in COST}}
_FEWEST = 3


@dataclass(frozen=True)
class TuningGrid:
    """The settings of one signal, each with its runs in the cells that all of them have."""

    signal: str
    runs: dict[Name, list[Run]]

    def mean(self, name: Name, title: str) -> float | None:
        values = [row[COLUMNS[title]] for row in self.runs.get(name, [])]
        return None if not values or None in values else fmean(values)

    @property
    def cells(self) -> int:
        return len(next(iter(self.runs.values())))

    @cached_property
    def chosen(self) -> dict[str, Selection[Name]]:
        """What the rule chooses, by each cost that was taken."""
        found = {}
        for cost in (cost.title for cost in COST):
            grid = []
            for name in self.runs:
                f1, nll, spent = (self.mean(name, title) for title in ("F1", "NLL", cost))
                if f1 and nll and spent:
                    grid.append(Setting(name, f1, nll, spent))
            if len(grid) == len(self.runs):
                found[cost] = select(grid)
        return found


def grids(rows: Sequence[Run]) -> list[TuningGrid]:
    """The grids of all signals that have three settings or more, on the cells in which none of them is missing."""
    by_signal: dict[str, dict[Name, list[Run]]] = {}
    for spec, schedule in hybrids(rows).items():
        name = (schedule.epsilon, schedule.patience)
        by_signal.setdefault(schedule.signal.name, {})[name] = those(rows, schedule=spec)
    found = []
    for signal, runs in by_signal.items():
        shared = set.intersection(*({cell_of(row) for row in mine} for mine in runs.values()))
        if len(runs) >= _FEWEST and shared:
            kept = {name: [row for row in mine if cell_of(row) in shared] for name, mine in runs.items()}
            found.append(TuningGrid(signal, kept))
    return found
