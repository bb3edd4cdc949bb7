"""When methods switched, whether the signal came back, and how far each switch is from the best one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hybridal.core.facts import Round
from hybridal.evidence.formats import change, fixed, percent
from hybridal.evidence.grid import COST, SECONDS_NOTE, setting_keys, settings
from hybridal.evidence.history import Rule
from hybridal.evidence.names import backbone_name, distinct_names, task_names
from hybridal.evidence.results import FACTORS, Results, Run, complete_runs, factors
from hybridal.evidence.select import distinct, hybrids, those, values
from hybridal.evidence.statistics.regret import Outcome, optimum
from hybridal.evidence.statistics.regret import regret as regretted
from hybridal.evidence.statistics.rounds import switching
from hybridal.evidence.table import MEAN, MISSING, ONE, Column, Entry, Row, Table, mean_of, one, rate, table_of
from hybridal.study.folder import StudyFolder
from hybridal.study.study import CellPlan

LAMBDA, DELTA = 0.5, 0.01
BEST = "Best switch round"
_POOLED = ("backbone",)


def switch_rounds(results: Results) -> Table | None:
    """The mean switch round t* of each method, backbone and task, over the seeds that fired."""
    rows = results.rows
    names, backbones = distinct_names(hybrids(distinct(rows, "schedule"))), distinct(rows, "backbone")
    if not names:
        return None
    titles = [*map(backbone_name, backbones), *(["Mean"] if len(backbones) > 1 else [])]
    columns = [Column("Task"), *(Column(title, (*MEAN, "runs"), name) for name in names.values() for title in titles)]
    sections = []
    for keys, members in settings(rows, _POOLED):
        tasks = task_names(distinct(members, "task"))
        lines = [_t_stars(those(members, task=task), name, names, backbones) for task, name in tasks.items()]
        if len(tasks) > 1:
            lines.append(_t_stars(members, "Mean", names, backbones))
        sections.append((keys, lines))
    caption = (
        "Switch round t*: mean ± std over the runs that fired; ✗ where none of them did. Means are over all runs that "
        "fired, whatever their task or backbone."
    )
    return table_of("switch-rounds", caption, columns, sections, setting_keys(rows, _POOLED))


def _t_stars(rows: Sequence[Run], name: str, specs: Mapping[str, str], backbones: Sequence[str]) -> Row:
    entries = []
    for spec in specs:
        mine = those(rows, schedule=spec)
        parts = [those(mine, backbone=backbone) for backbone in backbones]
        entries += [_t_star(part) for part in [*parts, *([mine] if len(backbones) > 1 else [])]]
    return (Entry(name), *entries)


def _t_star(rows: Sequence[Run]) -> Entry:
    if not rows:
        return MISSING
    entry = mean_of(values(rows, "t_star"), fixed(1), len(rows))
    return entry if entry.value is not None else replace(entry, text="✗")


def post_switch(results: Results) -> Table | None:
    """After t*: how far the signal still moved, and how often by ε or more."""
    rows = results.rows
    watching = hybrids(distinct(rows, "schedule"))
    if not watching:
        return None
    histories = {tuple(factors(cell, spec).values()): history for cell, spec, history in complete_runs(results.folder)}
    names = distinct_names(watching)
    columns = [Column("Task")]
    for name in names.values():
        columns += [Column("Fired", ONE, name), Column("t*", MEAN, name)]
        columns += [Column("Largest after", ONE, name), Column("≥ ε after", ONE, name)]
    sections = []
    for keys, members in settings(rows, _POOLED):
        tasks = task_names(distinct(members, "task"))
        lines = [(Entry(name), *_after(those(members, task=task), histories, watching)) for task, name in tasks.items()]
        sections.append((keys, lines))
    rules = "; ".join(f"{name}: ε = {watching[spec].epsilon:g}" for spec, name in names.items())
    caption = (
        "Signals after the switch, all backbones and seeds together: share of runs that fired, mean t* of those, the "
        f"largest change after t*, and the share of the rounds after t* whose change was ε or more. {rules}."
    )
    return table_of("post-switch", caption, columns, sections, setting_keys(rows, _POOLED))


def _after(
    rows: Sequence[Run], histories: Mapping[tuple[object, ...], Sequence[Round]], watching: Mapping[str, Rule]
) -> list[Entry]:
    entries = []
    for spec, schedule in watching.items():
        mine = [histories[tuple(row[name] for name in FACTORS)] for row in those(rows, schedule=spec)]
        if not mine:
            entries += [MISSING] * 4
            continue
        found = switching(mine, schedule.signal, schedule.detector)
        fired = [float(t_star) for t_star in found.t_stars if t_star is not None]
        entries += [one(found.fire_rate, percent()), mean_of(fired, fixed(1))]
        entries += [one(found.largest_after, change), one(found.recrossed_share, percent())]
    return entries


def regret(results: Results) -> Table | None:
    """Regret of each method against the best switch round, where a cell has the tail of every switch round."""
    rows = [row for cell in results.folder.cells for row in _cell_rows(results.folder, cell)]
    sections = []
    for cost in (cost.title for cost in COST):
        for keys, members in settings(those(rows, cost=cost)):
            names = distinct_names(spec for spec in distinct(members, "schedule") if spec != BEST)
            lines = [_regret(name, those(members, schedule=spec)) for spec, name in {BEST: BEST, **names}.items()]
            sections.append(((*keys, f"By {cost[:1].lower()}{cost[1:]}"), lines))
    titles = ("First fine-tuned", "Feasible", "Regret", "Rounds off", "F1 short by")
    caption = (
        f"Regret in cost / Retrain's cost + {LAMBDA:g} NLL / Retrain's NLL against the best switch round of the same "
        f"cell, whose F1 is within {DELTA:g} of the better of Retrain and FineTune. Regret is over the feasible runs; "
        "of the others, the last column says how much F1 they miss. Rounds off: from the nearest best one, below 0 for "
        f"too early. T + 1 means never. Mean ± std over all tasks and seeds. {SECONDS_NOTE}"
    )
    columns = [Column("Method"), *(Column(title, MEAN) for title in titles)]
    return table_of("regret", caption, columns, sections, (*setting_keys(rows), "Cost"))


def _cell_rows(folder: StudyFolder, cell: CellPlan) -> list[Run]:
    """A row for each method of a cell and each cost; none where some switch round was not tried."""
    facts, rounds = folder.facts(cell), cell.settings.rules.rounds
    paths = [_path(facts, "R" * (s - 1) + "F" * (rounds - s + 1)) for s in range(1, rounds + 2)]
    rows: list[Run] = []
    for cost in COST:
        outcomes = [_outcome(path, cost.column) for path in paths if path is not None]
        known = [outcome for outcome in outcomes if outcome is not None]
        if len(known) < rounds + 1:
            continue
        best = optimum(known, LAMBDA, DELTA, relative_nll=True)
        switches = {BEST: best.switch}
        for spec, history in folder.histories(cell).items():
            word = history[-1].word if len(history) == rounds else ""
            if word and word == "R" * word.count("R") + "F" * word.count("F"):
                switches[spec] = word.count("R") + 1
        for spec, switch in switches.items():
            assert switch is not None  # the better of the two pure strategies is always feasible
            rows.append({**factors(cell, spec), "cost": cost.title, "found": regretted(known, switch, best)})
    return rows


def _path(facts: Mapping[str, Round], word: str) -> list[Round] | None:
    words = [word[:t] for t in range(1, len(word) + 1)]
    return [facts[prefix] for prefix in words] if all(prefix in facts for prefix in words) else None


def _outcome(path: Sequence[Round], column: str) -> Outcome | None:
    measured = path[-1].test or path[-1].validation
    spent = sum(fact.cost.steps if column == "steps" else fact.training_time for fact in path)
    return Outcome(spent, measured.nll, measured.f1) if measured is not None and spent > 0 else None


def _regret(name: str, rows: Sequence[Run]) -> Row:
    found = [row["found"] for row in rows]
    short = [one.shortfall for one in found if not one.feasible]
    return (
        Entry(name),
        mean_of([float(one.switch) for one in found], fixed(1)),
        rate([float(one.feasible) for one in found]),
        mean_of([one.regret for one in found if one.feasible], fixed(3)),
        mean_of([float(one.rounds_off) for one in found], fixed(1)),
        mean_of(short, fixed(3)) if short else MISSING,
    )
