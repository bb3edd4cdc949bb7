"""The (ε, k) grid of each signal, and what the paper's rule chooses from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from hybridal.evidence.formats import fixed, threshold
from hybridal.evidence.grid import COST, SECONDS_NOTE, setting_keys, settings
from hybridal.evidence.names import schedule_name
from hybridal.evidence.results import Results, Run
from hybridal.evidence.select import cell_of, distinct, hybrids, those
from hybridal.evidence.statistics.tuning import Pair, Selection, Setting, select
from hybridal.evidence.table import MISSING, ONE, Column, Entry, Row, Table, one, table_of

COLUMNS = {"F1": "validation_f1", "NLL": "validation_nll", **{cost.title: cost.column for cost in COST}}
_SHOWN = {"F1": fixed(3), "NLL": fixed(3), **{cost.title: cost.shown for cost in COST}}
_FEWEST = 3


@dataclass(frozen=True)
class TuningGrid:
    """The settings of one signal, each with its runs in the cells that all of them have."""

    signal: str
    runs: dict[Pair, list[Run]]

    def mean(self, pair: Pair, title: str) -> float | None:
        values = [row[COLUMNS[title]] for row in self.runs.get(pair, [])]
        return None if not values or None in values else fmean(values)

    @cached_property
    def chosen(self) -> dict[str, Selection[Pair]]:
        """What the rule chooses, by each cost that was taken."""
        found = {}
        for cost in (cost.title for cost in COST):
            grid = []
            for pair in self.runs:
                f1, nll, spent = (self.mean(pair, title) for title in ("F1", "NLL", cost))
                if f1 and nll and spent:
                    grid.append(Setting(pair, f1, nll, spent))
            if len(grid) == len(self.runs):
                found[cost] = select(grid)
        return found


def grids(rows: Sequence[Run]) -> list[TuningGrid]:
    """The grids of all signals that have three settings or more, on the cells in which none of them is missing."""
    by_signal: dict[str, dict[Pair, list[Run]]] = {}
    for spec, schedule in hybrids(distinct(rows, "schedule")).items():
        pair = (schedule.epsilon, schedule.patience)
        by_signal.setdefault(schedule.signal, {})[pair] = those(rows, schedule=spec)
    found = []
    for signal, runs in by_signal.items():
        shared = set.intersection(*({cell_of(row) for row in mine} for mine in runs.values()))
        if len(runs) >= _FEWEST and shared:
            kept = {pair: [row for row in mine if cell_of(row) in shared] for pair, mine in runs.items()}
            found.append(TuningGrid(signal, kept))
    return found


def tuning_grid(results: Results) -> Table | None:
    """Mean validation F1, NLL and cost of each (ε, k); what the rule chooses is shaded."""
    rows = results.rows
    found = [(keys, grid) for keys, members in settings(rows) for grid in grids(members)]
    if not found:
        return None
    patiences = sorted({k for _, grid in found for _, k in grid.runs})
    columns = [Column("ε", ONE), *(Column(f"k = {k}", ONE, title) for title in COLUMNS for k in patiences)]
    sections = [((*keys, schedule_name(f"hybrid:{grid.signal}")), _grid_rows(grid, patiences)) for keys, grid in found]
    cells = len(next(iter(found[0][1].runs.values())))
    caption = (
        f"(ε, k) grid: means after the last round over {cells} runs of each setting, F1 and NLL on "
        "validation. Shaded is what the rule chooses: of the settings with 99.5% of the highest F1, the least cost / "
        "lowest cost + 0.5 NLL / lowest NLL, by counted steps; among the seconds, what it chooses by seconds. "
        f"{SECONDS_NOTE}"
    )
    return table_of("tuning-grid", caption, columns, sections, (*setting_keys(rows), "Signal"))


def _grid_rows(grid: TuningGrid, patiences: Sequence[int]) -> list[Row]:
    counted, timed = (cost.title for cost in COST)
    chosen = {title: grid.chosen.get(timed if title == timed else counted) for title in COLUMNS}
    rows: list[Row] = []
    for epsilon in sorted({epsilon for epsilon, _ in grid.runs}):
        entries = [one(epsilon, threshold)]
        for title, selection in chosen.items():
            for k in patiences:
                entry = one(grid.mean((epsilon, k), title), _SHOWN[title])
                picked = selection is not None and selection.chosen == (epsilon, k)
                entries.append(replace(entry, chosen=picked and entry is not MISSING))
        rows.append(tuple(entries))
    return rows


def tuning_choice(results: Results) -> Table | None:
    """What the rule chooses by each cost, and for which weights λ it would have chosen the same."""
    rows = results.rows
    sections = [
        (keys, [_choice(grid, *choice) for grid in grids(members) for choice in grid.chosen.items()])
        for keys, members in settings(rows)
    ]
    titles = ("ε", "k", "Candidates", "Score", "Runner-up", "λ from", "λ to")
    caption = (
        "The rule's choice (λ = 0.5) by counted steps and by seconds: how many settings reach 99.5% of the highest F1, "
        f"its score and the next best one, and the λ for which it stays. {SECONDS_NOTE}"
    )
    columns = [Column("Signal"), Column("Cost"), *(Column(title, ONE) for title in titles)]
    return table_of("tuning-choice", caption, columns, sections, setting_keys(rows))


def _choice(grid: TuningGrid, cost: str, chosen: Selection[Pair]) -> Row:
    scores = sorted(chosen.scores)
    return (
        Entry(schedule_name(f"hybrid:{grid.signal}")),
        Entry(cost),
        one(chosen.chosen[0], threshold),
        one(chosen.chosen[1], fixed(0)),
        one(len(chosen.candidates), fixed(0)),
        one(chosen.score, fixed(3)),
        one(scores[1] if len(scores) > 1 else None, fixed(3)),
        one(chosen.lam_low, fixed(3)),
        Entry("∞" if chosen.lam_high is None else fixed(3)(chosen.lam_high), (chosen.lam_high,)),
    )
