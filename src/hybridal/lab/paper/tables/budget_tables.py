"""How good each schedule is at equal numbers of labels."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from hybridal.lab.reports import method_grid as grid
from hybridal.lab.statistics.paired import noninferiority
from hybridal.lab.study.study_results import (
    FACTORS,
    RETRAIN,
    Results,
    Run,
    grouped,
    paired,
    plain_rows,
    those,
    values,
)
from hybridal.reports.number_formats import fixed, signed
from hybridal.reports.report_table import MEAN, MISSING, Column, Entry, Row, Table, mean_of, ranked

BUDGETS = (100, 200, 400, 800, 1600, 3200)


def equal_labels(results: Results) -> Table | None:
    """Return F1 at several numbers of labels, and the paired difference to Retrain with its interval."""
    rounds = plain_rows(results.rounds)
    split = "test" if all(row["test_f1"] is not None for row in rounds) else "validation"
    measured: list[Run] = [{**row, "f1": row[f"{split}_f1"]} for row in rounds if row[f"{split}_f1"] is not None]
    budgets = [budget for budget in (*BUDGETS, None) if within(measured, budget)]
    if not those(measured, schedule=RETRAIN) or len({row["schedule"] for row in measured}) < 2:
        return None
    columns = [Column("Method")]
    for budget in budgets:
        title = "the end" if budget is None else f"{budget:,} labels"
        columns += [Column("F1", MEAN, title), Column("To Retrain [95%]", ("mean", "low", "high"), title)]
    caption = (
        f"{split.capitalize()} F1 at equal labels, over all tasks and seeds: mean ± std of each run's last model "
        "within the number of labels, for runs that reached it, and the mean difference to Retrain in "
        "the same cell and seed with its 95% interval (Student's t; valid for these tasks only)."
    )
    return grid.sectioned("equal-labels", caption, columns, measured, lambda members: _lines(members, budgets))


def within(rounds: Sequence[Run], budget: int | None) -> list[Run]:
    """Return, for each run that reaches a budget, its last round within it; without a budget, its last round.

    >>> run = dict.fromkeys(FACTORS)
    >>> rounds = [{**run, "labels": 60}, {**run, "labels": 90}, {**run, "labels": 120}]
    >>> [row["labels"] for budget in (50, 100, 200, None) for row in within(rounds, budget)]
    [90, 120]
    """
    runs = grouped(rounds, itemgetter(*FACTORS))
    if budget is None:
        return [history[-1] for history in runs.values()]
    come = [history for history in runs.values() if history[0]["labels"] <= budget <= history[-1]["labels"]]
    return [[row for row in history if row["labels"] <= budget][-1] for history in come]


def _lines(members: Sequence[Run], budgets: Sequence[int | None]) -> list[Row]:
    reached = [within(members, budget) for budget in budgets]
    lines: list[Row] = []
    for spec, name, _ in grid.by_method(members):
        entries: list[Entry] = []
        for rows in reached:
            mine = those(rows, schedule=spec)
            entries.append(mean_of(values(mine, "f1"), fixed(3)))
            entries.append(_difference(mine, those(rows, schedule=RETRAIN)) if spec != RETRAIN else MISSING)
        lines.append((Entry(name), *entries))
    return ranked(lines, range(1, 2 * len(budgets), 2), higher=True)


def _difference(mine: Sequence[Run], reference: Sequence[Run]) -> Entry:
    found = noninferiority(*paired(mine, reference, "f1"), margins=(), alpha=0.025)
    if found.mean is None:
        return MISSING
    text = signed(3)(found.mean)
    if found.low is None or found.high is None:
        return Entry(text, (found.mean, None, None))
    low, high = signed(3)(found.low), signed(3)(found.high)
    return Entry(f"{text} [{low}, {high}]", (found.mean, found.low, found.high))
