"""When methods switched, whether the signal rose again, and how far each switch is from the best one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import pandas as pd

from hybridal.lab.reports.method_grid import COST, SECONDS_NOTE, sectioned, setting_keys, settings
from hybridal.lab.statistics.regret import DELTA, LAMBDA, regrets
from hybridal.lab.study.study_results import FACTORS, Results, complete_runs, factors, rules, values
from hybridal.measures.stabilisation import Stabilisation
from hybridal.reports.display_names import backbone_name, distinct_names, task_names
from hybridal.reports.number_formats import change, fixed, percent
from hybridal.reports.report_table import MEAN, MISSING, ONE, Column, Entry, Row, Table, mean_of, one, rate, table_of

_POOLED = ("backbone",)


def switch_rounds(results: Results) -> Table | None:
    """Return the mean switch round t* of each method, backbone and task, over the seeds that fired."""
    names, runs = distinct_names(rules(results.specs)), results.endpoints
    if not names:
        return None
    backbones = list(runs["backbone"].unique())
    titles = [*map(backbone_name, backbones), *(["Mean"] if len(backbones) > 1 else [])]
    columns = [Column("Task"), *(Column(title, (*MEAN, "runs"), name) for name in names.values() for title in titles)]
    caption = (
        "Switch round t*: mean ± std over the runs that fired; ✗ where none of them did. Means are over the (backbone, "
        "task) cells in which some did, each with the same weight."
    )

    def lines(members: pd.DataFrame) -> list[Row]:
        tasks = task_names(members["task"].unique())
        found = [_t_stars(members[members["task"] == task], name, names, backbones) for task, name in tasks.items()]
        return [*found, _t_stars(members, "Mean", names, backbones)] if len(tasks) > 1 else found

    return sectioned("switch-rounds", caption, columns, runs, lines, _POOLED)


def _t_stars(runs: pd.DataFrame, name: str, specs: Mapping[str, str], backbones: Sequence[str]) -> Row:
    entries = []
    for spec in specs:
        mine = runs[runs["schedule"] == spec]
        parts = [mine[mine["backbone"] == backbone] for backbone in backbones]
        entries += [_t_star(part) for part in [*parts, *([mine] if len(backbones) > 1 else [])]]
    return (Entry(name), *entries)


def _t_star(runs: pd.DataFrame) -> Entry:
    if runs.empty:
        return MISSING
    entry = mean_of(_fired(runs), fixed(1), len(runs))
    return entry if entry.value is not None else replace(entry, text="✗")


def _fired(runs: pd.DataFrame) -> list[float]:
    """Return the t* of the runs of one cell; for several cells, as in the paper, the mean of each cell with a t*."""
    cells = [values(cell, "t_star") for _, cell in runs.groupby(["backbone", "task"], sort=False)]
    return cells[0] if len(cells) == 1 else [fmean(fired) for fired in cells if fired]


def post_switch(results: Results) -> Table | None:
    """Return how far the signal changed after t*, and how often by ε or more."""
    watching = rules(results.specs)
    if not watching:
        return None
    histories = {tuple(factors(cell, spec).values()): history for cell, spec, history in complete_runs(results.folder)}
    names = distinct_names(watching)
    columns = [Column("Task")]
    for name in names.values():
        columns += [Column("Fired", ONE, name), Column("t*", MEAN, name)]
        columns += [Column("Largest after", ONE, name), Column("≥ ε after", ONE, name)]
    epsilons = "; ".join(f"{name}: ε = {watching[spec].detector.epsilon:g}" for spec, name in names.items())
    caption = (
        "Signals after the switch, all backbones and seeds together: share of runs that fired, mean t* of those (of "
        "several backbones, the mean of their means), the largest change after t*, and the share of the rounds after "
        f"t* whose change was ε or more. {epsilons}."
    )

    def after(members: pd.DataFrame, spec: str) -> list[Entry]:
        mine = members[members["schedule"] == spec]
        if mine.empty:
            return [MISSING] * 4
        own = [histories[run] for run in mine[[*FACTORS]].itertuples(index=False, name=None)]
        found = switching([watching[spec].changes(history) for history in own], watching[spec].detector)
        entries = [one(len(found.fired) / len(mine), percent()), mean_of(_fired(mine), fixed(1))]
        return [*entries, one(found.largest_after, change), one(found.recrossed_share, percent())]

    def lines(members: pd.DataFrame) -> list[Row]:
        tasks = task_names(members["task"].unique())
        of_task = {name: members[members["task"] == task] for task, name in tasks.items()}
        return [(Entry(name), *(e for spec in watching for e in after(own, spec))) for name, own in of_task.items()]

    return sectioned("post-switch", caption, columns, results.endpoints, lines, _POOLED)


@dataclass(frozen=True)
class Switching:
    """The t* of the runs that `fired`, the largest change after it, and the share of changes of ε or more."""

    fired: list[float]
    largest_after: float | None
    recrossed_share: float | None


def switching(runs: Sequence[Sequence[float | None]], detector: Stabilisation) -> Switching:
    """Run a detector over the recorded changes of runs.

    t* is the same in the schedule's own run and in RETRAIN's. What comes after it is the schedule's doing only in its
    own runs.

    >>> switching([[None, 0.1, 0.1, 0.9, 0.1], [None, 0.9]], Stabilisation(0.5, 2))
    Switching(fired=[3.0], largest_after=0.9, recrossed_share=0.5)
    """
    fired: list[float] = []
    after: list[tuple[float, bool]] = []
    for changes in runs:
        t_star = detector.t_star(changes)
        if t_star is not None:
            fired.append(float(t_star))
            later = zip(changes[t_star:], detector.streaks(changes)[t_star:], strict=True)
            # Only the detector compares with ε.
            after += [(change, streak == 0) for change, streak in later if change is not None]
    share = sum(above for _, above in after) / len(after) if after else None
    return Switching(fired, max((change for change, _ in after), default=None), share)


def regret(results: Results) -> Table | None:
    """Return the regret of each method against the best switch round, for cells that have every switch round."""
    if not results.specs:
        return None
    found = {f"By {cost.title[:1].lower()}{cost.title[1:]}": regrets(results.runs, cost.column) for cost in COST}
    sections = [
        ((*keys, title), _regret_lines(members)) for title, table in found.items() for keys, members in settings(table)
    ]
    keys = (*setting_keys(pd.concat(found.values())), "Cost")
    titles = ("First fine-tuned", "Feasible", "Regret", "Rounds off", "F1 short by")
    caption = (
        f"Regret in cost / Retrain's cost + {LAMBDA:g} NLL / Retrain's NLL against the best switch round of the same "
        f"cell, whose F1 is within {DELTA:g} of the better of Retrain and FineTune. Regret is over the feasible runs; "
        "of the others, the last column says how much F1 they miss. Rounds off: from the nearest best one, below 0 for "
        f"too early. T + 1 means never. Mean ± std over all tasks and seeds. {SECONDS_NOTE}"
    )
    columns = [Column("Method"), *(Column(title, MEAN) for title in titles)]
    return table_of("regret", caption, columns, sections, keys)


def _regret_lines(table: pd.DataFrame) -> list[Row]:
    every, named = table[table["schedule"] == ""], table[table["schedule"] != ""]
    names = distinct_names(named["schedule"].unique())
    own = [_regret(name, named[named["schedule"] == spec]) for spec, name in names.items()]
    return [_regret("Best switch round", every[every["switch"] == every["best"]]), *own]


def _regret(name: str, found: pd.DataFrame) -> Row:
    feasible, short = found[found["feasible"]], found[~found["feasible"]]
    return (
        Entry(name),
        mean_of(values(found, "switch"), fixed(1)),
        rate(values(found, "feasible")),
        mean_of(values(feasible, "regret"), fixed(3)),
        mean_of(values(found, "rounds_off"), fixed(1)),
        mean_of(values(short, "shortfall"), fixed(3)) if len(short) else MISSING,
    )
