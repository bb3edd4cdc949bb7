"""How good each schedule is at equal numbers of labels."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from hybridal.lab.reports import method_grid as grid
from hybridal.lab.statistics.paired import noninferiority
from hybridal.lab.study.study_results import FACTORS, RETRAIN, Results, paired, values
from hybridal.reports.number_formats import fixed, signed
from hybridal.reports.report_table import MEAN, MISSING, Column, Entry, Row, Table, mean_of, ranked

BUDGETS = (100, 200, 400, 800, 1600, 3200)


def equal_labels(results: Results) -> Table | None:
    """Return F1 at several numbers of labels, and the paired difference to Retrain with its interval."""
    rounds = results.rounds
    if rounds.empty:
        return None
    split = "test" if rounds["test_f1"].notna().all() else "validation"
    measured = rounds.assign(f1=rounds[f"{split}_f1"]).dropna(subset="f1")
    if RETRAIN not in set(measured["schedule"]) or measured["schedule"].nunique() < 2:
        return None
    budgets = [budget for budget in (*BUDGETS, None) if len(within(measured, budget))]
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


def within(rounds: pd.DataFrame, budget: int | None) -> pd.DataFrame:
    """Return, for each run that reaches a budget, its last round within it; without a budget, its last round.

    >>> rounds = pd.DataFrame({**dict.fromkeys(FACTORS, ""), "labels": [60, 90, 120]})
    >>> [within(rounds, budget)["labels"].tolist() for budget in (50, 100, 200, None)]
    [[], [90], [], [120]]
    """
    labels = rounds.groupby([*FACTORS], sort=False)["labels"]
    if budget is not None:
        reached = (labels.transform("first") <= budget) & (labels.transform("last") >= budget)
        rounds = rounds[reached & (rounds["labels"] <= budget)]
    return rounds.groupby([*FACTORS], sort=False).tail(1)


def _lines(members: pd.DataFrame, budgets: Sequence[int | None]) -> list[Row]:
    reached = [within(members, budget) for budget in budgets]
    lines: list[Row] = []
    for spec, name, _ in grid.by_method(members):
        entries: list[Entry] = []
        for rounds in reached:
            mine, reference = (rounds[rounds["schedule"] == schedule] for schedule in (spec, RETRAIN))
            entries.append(mean_of(values(mine, "f1"), fixed(3)))
            entries.append(_difference(mine, reference) if spec != RETRAIN else MISSING)
        lines.append((Entry(name), *entries))
    return ranked(lines, range(1, 2 * len(budgets), 2), higher=True)


def _difference(mine: pd.DataFrame, reference: pd.DataFrame) -> Entry:
    found = noninferiority(*paired(mine, reference, "f1"), margins=(), alpha=0.025)
    if found.mean is None:
        return MISSING
    text = signed(3)(found.mean)
    if found.low is None or found.high is None:
        return Entry(text, (found.mean, None, None))
    low, high = signed(3)(found.low), signed(3)(found.high)
    return Entry(f"{text} [{low}, {high}]", (found.mean, found.low, found.high))
