"""The (ε, k) grid of each signal, and what the paper's rule chooses from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from hybridal.evidence.formats import fixed, threshold
from hybridal.evidence.grid import COST, SECONDS_NOTE, STEPS, Measure, sectioned, setting_keys, settings
from hybridal.evidence.results import Results, Run
from hybridal.evidence.statistics.tuning import QUALITY, Pair, Selection, choose, grids
from hybridal.evidence.table import MISSING, ONE, Column, Entry, Row, Table, one, table_of
from hybridal.signals import signal_title

_MEASURES = (Measure("F1", QUALITY[0], fixed(3)), Measure("NLL", QUALITY[1], fixed(3)), *COST)
_FEWEST = 3


def _grids(rows: Sequence[Run]) -> dict[str, pd.DataFrame]:
    """The grids of all signals that have three settings or more, on the cells in which none of them is missing."""
    found = {f"HybridAL {signal_title(name)}": grid for name, grid in grids(pd.DataFrame(rows), paired=True).items()}
    return {title: grid for title, grid in found.items() if len(grid) >= _FEWEST}


def _chosen(grid: pd.DataFrame, cost: Measure) -> Selection[Pair] | None:
    """What the rule chooses by a cost; None where something was not taken."""
    taken = (grid[[*QUALITY, cost.column]] > 0).all(axis=None)
    return choose(grid, cost.column) if taken else None


def tuning_grid(results: Results) -> Table | None:
    """Mean validation F1, NLL and cost of each (ε, k); what the rule chooses is shaded."""
    rows = results.rows
    found = [((*keys, title), grid) for keys, members in settings(rows) for title, grid in _grids(members).items()]
    if not found:
        return None
    patiences = sorted({k for _, grid in found for _, k in grid.index})
    columns = [Column("ε", ONE), *(Column(f"k = {k}", ONE, measure.title) for measure in _MEASURES for k in patiences)]
    sections = [(keys, _lines(grid, patiences)) for keys, grid in found]
    runs = found[0][1]["runs"].iloc[0]
    caption = (
        f"(ε, k) grid: means after the last round over {runs} runs of each setting, F1 and NLL on "
        "validation. Shaded is what the rule chooses: of the settings with 99.5% of the highest F1, the least cost / "
        "lowest cost + 0.5 NLL / lowest NLL, by counted steps; among the seconds, what it chooses by seconds. "
        f"{SECONDS_NOTE}"
    )
    return table_of("tuning-grid", caption, columns, sections, (*setting_keys(rows), "Signal"))


def _lines(grid: pd.DataFrame, patiences: Sequence[int]) -> list[Row]:
    chosen = {measure: _chosen(grid, measure if measure in COST else STEPS) for measure in _MEASURES}
    rows: list[Row] = []
    for epsilon in sorted({epsilon for epsilon, _ in grid.index}):
        entries = [one(epsilon, threshold)]
        for measure, selection in chosen.items():
            for k in patiences:
                value = grid[measure.column].get((epsilon, k))
                entry = MISSING if value is None or pd.isna(value) else one(float(value), measure.shown)
                picked = selection is not None and selection.chosen == (epsilon, k)
                entries.append(replace(entry, chosen=picked and entry is not MISSING))
        rows.append(tuple(entries))
    return rows


def tuning_choice(results: Results) -> Table | None:
    """What the rule chooses by each cost, and for which weights λ it would have chosen the same."""

    def lines(members: list[Run]) -> Iterator[Row]:
        for title, grid in _grids(members).items():
            for cost in COST:
                if (chosen := _chosen(grid, cost)) is not None:
                    yield (Entry(title), Entry(cost.title), *_choice(chosen))

    titles = ("ε", "k", "Candidates", "Score", "Runner-up", "λ from", "λ to")
    caption = (
        "The rule's choice (λ = 0.5) by counted steps and by seconds: how many settings reach 99.5% of the highest F1, "
        f"its score and the next best one, and the λ for which it stays. {SECONDS_NOTE}"
    )
    columns = [Column("Signal"), Column("Cost"), *(Column(title, ONE) for title in titles)]
    return sectioned("tuning-choice", caption, columns, results.rows, lines)


def _choice(found: Selection[Pair]) -> Row:
    scores = sorted(found.scores)
    return (
        one(found.chosen[0], threshold),
        one(found.chosen[1], fixed(0)),
        one(len(found.candidates), fixed(0)),
        one(found.score, fixed(3)),
        one(scores[1] if len(scores) > 1 else None, fixed(3)),
        one(found.lam_low, fixed(3)),
        Entry("∞" if found.lam_high is None else fixed(3)(found.lam_high), (found.lam_high,)),
    )
