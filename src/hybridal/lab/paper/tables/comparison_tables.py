"""Is a method as good as Retrain and FineTune? Non-inferiority, rank tests with effect sizes, and cells won."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median, stdev

import numpy as np
import pandas as pd

from hybridal.lab.reports.method_grid import (
    ALPHA,
    COST,
    F1,
    NLL,
    SECONDS_NOTE,
    STEPS,
    Measure,
    by_method,
    setting_keys,
    settings,
)
from hybridal.lab.reports.paired_tests import TESTS_NOTE, Compared, comparison_columns, comparison_rows
from hybridal.lab.statistics.numbers import Array, summary
from hybridal.lab.statistics.paired import noninferiority as tested
from hybridal.lab.statistics.paired import paired_p
from hybridal.lab.study.study_results import CELL, FINETUNE, RETRAIN, Results, paired, values
from hybridal.reports.display_names import distinct_names
from hybridal.reports.number_formats import NONE, fixed, p_value, signed
from hybridal.reports.report_table import MISSING, ONE, Column, Entry, Row, Table, one, table_of

MARGINS = (0.005, 0.01, 0.02)
# All backbones together: a pair is a (backbone, task, seed).
_POOLED = ("backbone",)


def noninferiority(results: Results) -> Table | None:
    """Return one-sided 95% bounds of the mean paired difference in F1, at several margins δ."""
    runs = results.endpoints.dropna(subset="f1")
    sections = [
        ((*keys, title), [_bounds(name, mine, reference) for _, name, mine in by_method(members, among)])
        for keys, members in settings(runs, _POOLED)
        for title, reference, among in _references(members)
        if len(reference)
    ]
    columns = [Column("Method"), Column("Pairs", ("n",)), Column("Difference", ONE)]
    columns += [Column(title, ONE) for title in ("Lower bound", "Upper bound", "Equivalent at δ ≥")]
    columns += [Column(f"δ = {margin:g}", ("p",), "No worse by more than") for margin in MARGINS]
    caption = (
        f"Non-inferiority of {results.split} F1 against a reference, over all (backbone, task, seed) pairs: the mean "
        "difference, its one-sided 95% bounds (two one-sided tests), the least margin at which both pass, and for each "
        f"margin δ whether the lower bound stays above −δ (✓), with p, or whether all pairs are the same (=)."
        f"{_noise(runs[runs['schedule'] == RETRAIN])} "
        "Seeds of a task resemble each other: the bounds speak for these tasks."
    )
    return table_of("noninferiority", caption, columns, sections, (*setting_keys(runs, _POOLED), "Reference"))


def _references(runs: pd.DataFrame) -> list[tuple[str, pd.DataFrame, tuple[str, ...]]]:
    """Return each reference with its title, its runs, and the schedules that are not compared with it.

    References are Retrain, FineTune, and in each cell the one of both with the higher F1. The last one is hard to
    reach: the maximum of two is high partly by chance.
    """
    retrain, finetune = (runs[runs["schedule"] == spec] for spec in (RETRAIN, FINETUNE))
    both = retrain.merge(finetune[[*CELL, "f1"]], on=CELL, suffixes=("", "_finetuned"))
    better = both.assign(f1=both[["f1", "f1_finetuned"]].max(axis=1))
    return [
        ("Retrain", retrain, (RETRAIN,)),
        ("FineTune", finetune, (FINETUNE,)),
        ("the better of both", better, (RETRAIN, FINETUNE)),
    ]


def _bounds(name: str, mine: pd.DataFrame, reference: pd.DataFrame) -> Row:
    found = tested(*paired(mine, reference, "f1"), margins=MARGINS)
    same = found.mean == 0 and found.n > 1
    judged = [
        Entry("=" if same else NONE) if p is None else Entry(f"{'✓' if passes else '✗'} ({p_value(p)})", (p,))
        for p, passes in zip(found.p, found.passes, strict=True)
    ]
    bounds = [one(value, signed(4)) for value in (found.mean, found.low, found.high)]
    return (Entry(name), Entry(f"{found.n}", (found.n,)), *bounds, one(found.equivalent, fixed(4)), *judged)


def _noise(retrain: pd.DataFrame) -> str:
    cells = retrain.groupby(CELL[:-1], sort=False)
    spreads = [stdev(values(members, "f1")) for _, members in cells if len(members) > 1]
    if not spreads:
        return ""
    return (
        f" From seed to seed, Retrain's F1 spreads by {fmean(spreads):.4f} on average over {len(spreads)} cells "
        f"(median {median(spreads):.4f}, largest {max(spreads):.4f})."
    )


def rank_tests(results: Results) -> Table | None:
    """Return Wilcoxon's signed-rank tests with Holm's correction, and effect sizes, for each measure."""
    runs, split = results.endpoints, results.split
    sections = [
        ((*keys, measure.title), _tests(members, measure))
        for keys, members in settings(runs, _POOLED)
        for measure in (F1.on(split), NLL.on(split), *COST)
    ]
    caption = (
        "Methods against Retrain and FineTune over all (backbone, task, seed) pairs: mean difference; "
        f"{TESTS_NOTE} {SECONDS_NOTE}"
    )
    return table_of(
        "rank-tests", caption, comparison_columns("Method"), sections, (*setting_keys(runs, _POOLED), "Measure")
    )


def _tests(runs: pd.DataFrame, measure: Measure) -> list[Row]:
    names = distinct_names(runs["schedule"].unique())
    compared: list[Compared] = []
    for reference in (RETRAIN, FINETUNE):
        for _, name, mine in by_method(runs, (reference, RETRAIN)):
            pair = paired(mine, runs[runs["schedule"] == reference], measure.column)
            if pair[0]:
                compared.append((name, names[reference], pair))
    return comparison_rows(compared, measure)


def wins(results: Results) -> Table | None:
    """Count, per pair of methods, the (backbone, task) cells in which the row significantly beats the column."""
    runs, split = results.endpoints, results.split
    names = distinct_names(runs["schedule"].unique())
    sections = []
    for keys, members in settings(runs, _POOLED):
        for measure in (F1.on(split), NLL.on(split), STEPS):
            cells = _numbers_by_cell(members, list(names), measure.column)
            lines = [(Entry(names[new]), *(_won(cells, new, old, measure) for old in names)) for new in names]
            if any(entry.numbers for line in lines for entry in line):
                sections.append(((*keys, measure.title), lines))
    columns = [Column("Better"), *(Column(name, ("cells", "of")) for name in names.values())]
    caption = (
        "In how many (backbone, task) cells the method of the row is better than that of the column (paired t-test "
        f"over seeds, two-sided, p < {ALPHA:g}, not corrected), of the cells that have two seeds or more."
    )
    return table_of("wins", caption, columns, sections, (*setting_keys(runs, _POOLED), "Measure"))


def _numbers_by_cell(runs: pd.DataFrame, specs: Sequence[str], column: str) -> list[dict[str, Array]]:
    """Return, for each (backbone, task), the numbers of each schedule by seed; NaN where they are missing."""
    wide = runs.pivot(index=CELL, columns="schedule", values=column).reindex(columns=list(specs)).astype(float)
    return [{spec: cell[spec].to_numpy() for spec in specs} for _, cell in wide.groupby(["backbone", "task"])]


def _won(cells: Sequence[Mapping[str, Array]], new: str, old: str, measure: Measure) -> Entry:
    won = compared = 0
    for cell in cells if new != old else ():
        known = ~np.isnan(cell[new] + cell[old])
        pair = cell[new][known], cell[old][known]
        compared += len(pair[0]) > 1
        p, mean = paired_p(*pair), summary(*pair).mean
        if p is not None and p < ALPHA and mean is not None:
            won += mean > 0 if measure.higher else mean < 0
    return Entry(f"{fixed(0)(won)}/{fixed(0)(compared)}", (won, compared)) if compared else MISSING
