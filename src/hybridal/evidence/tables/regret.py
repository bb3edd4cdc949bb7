"""How far each method's switch is from the best one: the offline optimum of the paper's Problem 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hybridal.core.facts import Round
from hybridal.evidence.looks import distinct_names
from hybridal.evidence.results import Results, factors
from hybridal.evidence.statistics.regret import Outcome, optimum
from hybridal.evidence.statistics.regret import regret as regretted
from hybridal.evidence.tables._entries import fixed, mean_of, rate
from hybridal.evidence.tables._grid import setting_keys, settings
from hybridal.evidence.tables._runs import Run, distinct, those
from hybridal.evidence.tables.measures import COST, SECONDS_NOTE
from hybridal.evidence.tables.table import MEAN, MISSING, Column, Entry, Row, Section, Table
from hybridal.study.folder import StudyFolder
from hybridal.study.study import CellPlan

LAMBDA, DELTA = 0.5, 0.01
BEST = "Best switch round"


def regret(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """Regret of each method against the best switch round, where a cell has the tail of every switch round.

    >>> from hybridal.evidence.tables._example import example
    >>> fixed_switches = tuple(f"fixed:{k}" for k in range(1, 6))
    >>> table = regret(*example(rounds=4, schedules=(*fixed_switches, "hybrid:accuracy:0.03:1")))
    >>> [entry.text for entry in table.sections[0].rows[0]]
    ['Best switch round', '1.3 ± 0.5', '100%', '0.000 ± 0.000', '0.0 ± 0.0', '–']
    """
    rows = [row for cell in folder.cells for row in _cell_rows(folder, cell)]
    costs = [cost.title for cost in COST if any(row["cost"] == cost.title for row in rows)]
    sections = []
    for cost in costs:
        for keys, members in settings([row for row in rows if row["cost"] == cost]):
            names = distinct_names(spec for spec in distinct(members, "schedule") if spec != BEST)
            lines = [_row(name, those(members, schedule=spec)) for spec, name in {BEST: BEST, **names}.items()]
            sections.append(Section((*keys, f"By {cost[:1].lower()}{cost[1:]}"), tuple(lines)))
    if not sections:
        return None
    columns = [Column("Method"), Column("First fine-tuned", MEAN), Column("Feasible", MEAN), Column("Regret", MEAN)]
    columns += [Column("Rounds off", MEAN), Column("F1 short by", MEAN)]
    caption = (
        f"Regret in cost / Retrain's cost + {LAMBDA:g} NLL / Retrain's NLL against the best switch round of the same "
        f"cell, whose F1 is within {DELTA:g} of the better of Retrain and FineTune. Regret is over the feasible runs; "
        "of the others, the last column says how much F1 they miss. Rounds off: from the nearest best one, below 0 for "
        f"too early. T + 1 means never. Mean ± std over all tasks and seeds. {SECONDS_NOTE}"
    )
    return Table("regret", caption, tuple(columns), tuple(sections), (*setting_keys(rows), "Cost"))


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


def _row(name: str, rows: Sequence[Run]) -> Row:
    found = [row["found"] for row in rows]
    able = [one for one in found if one.feasible]
    short = [one.shortfall for one in found if not one.feasible]
    return (
        Entry(name),
        mean_of([float(one.switch) for one in found], fixed(1)),
        rate([float(one.feasible) for one in found]),
        mean_of([one.regret for one in able], fixed(3)),
        mean_of([float(one.rounds_off) for one in found], fixed(1)),
        mean_of(short, fixed(3)) if short else MISSING,
    )
