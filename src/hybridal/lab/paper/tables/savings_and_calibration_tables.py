"""Cost saved against Retrain, temperature scaling, and calibration by round."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import pandas as pd

from hybridal.lab.reports import method_grid as grid
from hybridal.lab.statistics.paired import bootstrap_interval
from hybridal.lab.study.study_results import RETRAIN, Results, paired, values
from hybridal.reports.display_names import distinct_names
from hybridal.reports.number_formats import fixed, percent
from hybridal.reports.report_table import MEAN, MISSING, ONE, Column, Entry, Row, Table, mean_of, one, ranked, table_of

# A bootstrap over fewer cells is not informative.
_MIN_CELLS = 5
_TEMPERATURE = (
    ("τ", "temperature", fixed(2)),
    ("NLL", "nll", fixed(3)),
    ("NLL(τ)", "nll_scaled", fixed(3)),
    ("ECE", "ece", percent(1)),
    ("ECE(τ)", "ece_scaled", percent(1)),
)
# Short runs show every round of ECE, long ones every fifth; all of them their last five together.
_ALL, _LAST = 10, 5


def savings(results: Results) -> Table | None:
    """Return pooled means, and the share of Retrain's cost that a method saves in the same cells."""
    runs = results.endpoints
    if RETRAIN not in results.specs:
        return None
    found = [*grid.settings(runs)]
    if runs["backbone"].nunique() > 1:
        found += [(("All backbones", *keys), members) for keys, members in grid.settings(runs, ("backbone",))]
    columns = [Column("Method"), *(Column(measure.on(results.split).title, MEAN) for measure in (grid.F1, grid.NLL))]
    for measure in grid.COST:
        columns += [Column("Mean", MEAN, measure.title), Column("Saved in all", ONE, measure.title)]
        columns.append(Column("Saved a run [95%]", ("mean", "low", "high"), measure.title))
    caption = (
        "All tasks and seeds together: mean ± std, and the share of Retrain's cost that is saved in the cells that "
        "both have: of the sums, and the mean over runs with its bootstrap interval, for which whole (backbone, task) "
        f"cells are drawn again (from {_MIN_CELLS} of them on). {grid.SECONDS_NOTE}"
    )
    sections = [(keys, _savings(members)) for keys, members in found]
    return table_of("savings", caption, columns, sections, grid.setting_keys(runs))


def _savings(runs: pd.DataFrame) -> list[Row]:
    reference = runs[runs["schedule"] == RETRAIN]
    lines: list[Row] = []
    for spec, name, mine in grid.by_method(runs):
        entries = [mean_of(values(mine, measure.column), measure.shown) for measure in (grid.F1, grid.NLL)]
        for measure in grid.COST:
            entries.append(mean_of(values(mine, measure.column), measure.shown))
            entries += _saved(mine, reference, measure) if spec != RETRAIN else [MISSING, MISSING]
        lines.append((Entry(name), *entries))
    return ranked(ranked(lines, [1], higher=True), [2, 3, 6], higher=False)


def _saved(mine: pd.DataFrame, reference: pd.DataFrame, measure: grid.Measure) -> list[Entry]:
    new, old = paired(mine, reference, measure.column)
    if not new or not all(old):
        return [MISSING, MISSING]
    cells = []
    for _, members in mine.groupby(["backbone", "task"], sort=False):
        some, other = paired(members, reference, measure.column)
        if some:
            cells.append([1 - a / b for a, b in zip(some, other, strict=True)])
    saved = one(1 - sum(new) / sum(old), percent(1))
    mean = fmean(value for cell in cells for value in cell)
    interval = bootstrap_interval(cells) if len(cells) >= _MIN_CELLS else None
    if interval is None:
        return [saved, Entry(percent(1)(mean), (mean, None, None))]
    low, high = (fixed(1)(100 * end) for end in interval)
    return [saved, Entry(f"{percent(1)(mean)} [{low}, {high}]", (mean, *interval))]


def temperature(results: Results) -> Table | None:
    """Return the temperature fitted on validation, and NLL and ECE before and after scaling."""

    def lines(members: pd.DataFrame) -> list[Row]:
        found: list[Row] = [
            (Entry(name), *(mean_of(values(mine, column), shown) for _, column, shown in _TEMPERATURE))
            for _, name, mine in grid.by_method(members)
        ]
        return ranked(found, range(2, len(_TEMPERATURE) + 1), higher=False)

    columns = [Column("Method"), *(Column(title, MEAN) for title, _, _ in _TEMPERATURE)]
    caption = (
        f"Temperature scaling after the last round: τ fitted on validation (above 1: over-confident), NLL and ECE on "
        f"{results.split} before and after scaling; mean ± std over all tasks and seeds."
    )
    runs = results.endpoints.dropna(subset="temperature")
    return grid.sectioned("temperature", caption, columns, runs, lines)


def ece_by_round(results: Results) -> Table | None:
    """Return validation ECE by round and method, and its mean over the last five rounds."""
    if results.rounds.empty:
        return None
    rounds = results.rounds.dropna(subset="validation_ece")
    names = distinct_names(rounds["schedule"].unique())
    columns = [Column("Round"), *(Column(name, MEAN) for name in names.values())]
    caption = "Validation ECE in percent (15 bins) by round: mean ± std over all tasks and seeds."
    return grid.sectioned("ece-by-round", caption, columns, rounds, lambda members: _ece_rows(members, list(names)))


def _ece_rows(rounds: pd.DataFrame, specs: Sequence[str]) -> list[Row]:
    last = int(rounds["round"].max())
    lines = [(f"{t}", range(t, t + 1)) for t in shown_rounds(last)]
    if last > _LAST:
        lines.append((f"Last {_LAST}", range(last - _LAST + 1, last + 1)))
    rows: list[Row] = []
    for title, stretch in lines:
        some = rounds[rounds["round"].isin(stretch)]
        found = [[100 * ece for ece in values(some[some["schedule"] == spec], "validation_ece")] for spec in specs]
        rows.append((Entry(title), *(mean_of(shares, fixed(2)) for shares in found)))
    return rows


def shown_rounds(last: int) -> list[int]:
    """Return the rounds to show: all of a short run, every fifth and the last of a long one.

    >>> shown_rounds(3), shown_rounds(24)
    ([1, 2, 3], [5, 10, 15, 20, 24])
    """
    return list(range(1, last + 1)) if last <= _ALL else sorted({*range(5, last + 1, 5), last})
