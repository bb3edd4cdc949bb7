"""The (ε, k) grid of each signal, and what the paper's rule chooses from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hybridal.evidence.formats import threshold
from hybridal.evidence.looks import schedule_name
from hybridal.evidence.results import Results
from hybridal.evidence.statistics.tuning import Selection
from hybridal.evidence.tables._entries import fixed, one
from hybridal.evidence.tables._grid import setting_keys, settings
from hybridal.evidence.tables._runs import runs_of
from hybridal.evidence.tables._tuned import COLUMNS, Name, TuningGrid, grids
from hybridal.evidence.tables.measures import COST, SECONDS_NOTE
from hybridal.evidence.tables.table import MISSING, Column, Entry, Row, Section, Table
from hybridal.study.folder import StudyFolder

_SHOWN = {"F1": fixed(3), "NLL": fixed(3), **{cost.title: cost.shown for cost in COST}}


def tuning_grid(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """Mean validation F1, NLL and cost of each (ε, k); what the rule chooses is shaded.

    >>> from hybridal.evidence.tables._example import example
    >>> specs = tuple(f"hybrid:alpha:{e}:{k}" for e in (0.0001, 0.0003) for k in (2, 3))
    >>> table = tuning_grid(*example(schedules=specs))
    >>> [[entry.text for entry in row if entry.chosen] for row in table.sections[0].rows]
    [[], ['0.856', '0.520', '447', '54.0']]
    """
    rows = runs_of(results)
    found = [(keys, grid) for keys, members in settings(rows) for grid in grids(members)]
    if not found:
        return None
    patiences = sorted({k for _, grid in found for _, k in grid.runs})
    columns = [Column("ε", ("value",))]
    columns += [Column(f"k = {k}", ("value",), title) for title in COLUMNS for k in patiences]
    sections = tuple(
        Section((*keys, schedule_name(f"hybrid:{grid.signal}")), tuple(_rows(grid, patiences))) for keys, grid in found
    )
    caption = (
        f"(ε, k) grid: means after the last round over {found[0][1].cells} runs of each setting, F1 and NLL on "
        "validation. Shaded is what the rule chooses: of the settings with 99.5% of the highest F1, the least cost / "
        "lowest cost + 0.5 NLL / lowest NLL, by counted steps; among the seconds, what it chooses by seconds. "
        f"{SECONDS_NOTE}"
    )
    return Table("tuning-grid", caption, tuple(columns), sections, (*setting_keys(rows), "Signal"))


def tuning_choice(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """What the rule chooses by each cost, and for which weights λ it would have chosen the same."""
    rows = runs_of(results)
    lines: list[tuple[tuple[str, ...], Row]] = []
    for keys, members in settings(rows):
        for grid in grids(members):
            for cost, chosen in grid.chosen.items():
                lines.append((keys, _choice(grid, cost, chosen)))
    if not lines:
        return None
    columns = [Column("Signal"), Column("Cost"), Column("ε", ("value",)), Column("k", ("value",))]
    columns += [Column("Candidates", ("value",)), Column("Score", ("value",)), Column("Runner-up", ("value",))]
    columns += [Column("λ from", ("value",)), Column("λ to", ("value",))]
    sections = [Section(keys, tuple(row for of, row in lines if of == keys)) for keys in dict(lines)]
    caption = (
        "The rule's choice (λ = 0.5) by counted steps and by seconds: how many settings reach 99.5% of the highest F1, "
        f"its score and the next best one, and the λ for which it stays. {SECONDS_NOTE}"
    )
    return Table("tuning-choice", caption, tuple(columns), tuple(sections), setting_keys(rows))


def _rows(grid: TuningGrid, patiences: Sequence[int]) -> list[Row]:
    counted, timed = (cost.title for cost in COST)
    chosen = {title: grid.chosen.get(timed if title == timed else counted) for title in COLUMNS}
    rows: list[Row] = []
    for epsilon in sorted({epsilon for epsilon, _ in grid.runs}):
        entries = [one(epsilon, threshold)]
        for title in COLUMNS:
            for k in patiences:
                entry = one(grid.mean((epsilon, k), title), _SHOWN[title])
                selection = chosen[title]
                picked = selection is not None and selection.chosen == (epsilon, k)
                entries.append(replace(entry, chosen=picked and entry is not MISSING))
        rows.append(tuple(entries))
    return rows


def _choice(grid: TuningGrid, cost: str, chosen: Selection[Name]) -> Row:
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
