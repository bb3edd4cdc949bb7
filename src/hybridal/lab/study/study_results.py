"""A study as two frames: a row a run, and a row a round of a run. Tables and figures are functions of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from hybridal.core.rounds import Metrics, Round
from hybridal.errors import UserError
from hybridal.lab.study.study import CellPlan
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.lab.study.trie import histories
from hybridal.reports.display_names import schedule_of
from hybridal.reports.round_history import COUNTED, total_cost
from hybridal.schedules import Rule

if TYPE_CHECKING:
    import pandas as pd

MEASURES = ("accuracy", "f1", "nll", "ece", "brier", "nll_scaled", "ece_scaled")
CELL = ["task", "backbone", "acquisition", "variant", "seed"]
FACTORS = (*CELL, "schedule")
RETRAIN, FINETUNE = "retrain", "finetune"
# The columns of what a run costs: counted, and timed.
COSTS = {"steps": "steps", "seconds": "training_time"}
Cost = Literal["steps", "seconds"]
Run = dict[str, Any]


@dataclass(frozen=True)
class Results:
    """`runs` has a row a complete run, `rounds` a row a round of each of them; both name the run by its factors.

    `variant` spells the protocol fields in which cells differ ("" where none do). Costs are sums over a run's own
    rounds, shared or not. `t_star` and `first_finetune` are missing where a run never switched. The `folder` has what
    is no number: facts, texts, and what was asked for.
    """

    runs: pd.DataFrame
    rounds: pd.DataFrame
    folder: StudyFolder = field(compare=False)

    @cached_property
    def rows(self) -> list[Run]:
        """One row a run, None where a number is missing; `f1`, `nll` and `ece` are of the `split` of the study.

        Seconds that were not taken are missing, not zero. `fired` is 1 or 0 for runs that had a signal to fire.
        """
        rows = plain_rows(self.runs)
        seen: set[tuple[Any, ...]] = set()
        for row in rows:
            key = tuple(row[name] for name in FACTORS)
            if key in seen:
                raise UserError(f"Two runs of this study are both called {key}; give their tasks different names.")
            seen.add(key)
            for name in ("f1", "nll", "ece", "nll_scaled", "ece_scaled"):
                row[name] = row[f"{self.split}_{name}"]
            for name in ("training_time", "seconds"):
                row[name] = row[name] or None
            row["epochs_a_round"] = row["epochs"] / row["rounds"]
            row["fired"] = float(row["t_star"] is not None) if rules([row["schedule"]]) else None
        return rows

    @property
    def split(self) -> str:
        """Where runs are measured: on test, unless none of them was."""
        return "test" if len(self.runs) and self.runs["test_f1"].notna().any() else "validation"

    @property
    def specs(self) -> list[str]:
        """All schedules, in the study's order."""
        return [str(spec) for spec in self.runs["schedule"].unique()] if len(self.runs) else []


def results(folder: StudyFolder) -> Results:
    """Everything that is complete in a study, read once."""
    import pandas as pd

    once = folder if isinstance(folder, ReadOnce) else ReadOnce(folder)
    runs: list[Run] = []
    rounds: list[Run] = []
    for cell, spec, history in complete_runs(once):
        run = factors(cell, spec)
        runs.append({**run, **run_row(spec, history)})
        rounds.extend({**run, **round_row(fact)} for fact in history)
    return Results(pd.DataFrame(runs), pd.DataFrame(rounds), once)


def complete_runs(folder: StudyFolder) -> list[tuple[CellPlan, str, Sequence[Round]]]:
    """Every run that is at its end, with its cell and its schedule."""
    return [
        (cell, spec, history)
        for cell in folder.cells
        for spec, history in folder.histories(cell).items()
        if len(history) == cell.settings.rules.rounds
    ]


class ReadOnce(StudyFolder):
    """What was recorded when a cell was first asked for; use it for one piece of work, then let it go."""

    def __init__(self, folder: StudyFolder) -> None:
        super().__init__(folder.path, folder.study, folder.device)
        self._facts: dict[str, dict[str, Round]] = {}
        self._histories: dict[str, dict[str, tuple[Round, ...]]] = {}

    def facts(self, cell: CellPlan) -> dict[str, Round]:
        if cell.key not in self._facts:
            self._facts[cell.key] = super().facts(cell)
        return self._facts[cell.key]

    def histories(self, cell: CellPlan) -> dict[str, tuple[Round, ...]]:
        if cell.key not in self._histories:
            schedules = [schedule_of(spec) for spec in cell.schedules]
            self._histories[cell.key] = histories(self.facts(cell), schedules, cell.settings.rules.rounds)
        return self._histories[cell.key]


def factors(cell: CellPlan, spec: str) -> dict[str, Any]:
    """What tells a run from the others of its study."""
    asked = cell.settings
    values = (asked.task, asked.backbone, asked.acquisition_spec, variant_name(cell.variant), asked.seed, spec)
    return dict(zip(FACTORS, values, strict=True))


def variant_name(variant: Mapping[str, Any]) -> str:
    """How a variant is called, such as `initial=50`; without a limit, `candidates=all`."""
    return ", ".join(f"{name}={'all' if value is None else value}" for name, value in variant.items())


def run_row(spec: str, history: Sequence[Round]) -> Run:
    """The end of a run, what it cost and when it switched."""
    last, cost = history[-1], total_cost(history)
    return {
        **_measures("test", last.test),
        **_measures("validation", last.validation),
        **{name: getattr(cost, name) for name in COUNTED},
        "temperature": last.temperature,
        "training_time": sum(fact.training_time for fact in history),
        "seconds": sum(sum(fact.seconds.values()) for fact in history),
        "rounds": len(history),
        "labels": last.labels,
        "t_star": schedule_of(spec).t_star(history),
        "first_finetune": next((fact.round for fact in history if fact.update == FINETUNE), None),
        "update_sequence": last.update_sequence,
    }


def round_row(fact: Round) -> Run:
    """One round; signals as `change_NAME`."""
    return {
        "round": fact.round,
        "update": fact.update,
        "labels": fact.labels,
        **_measures("validation", fact.validation),
        **_measures("test", fact.test),
        "temperature": fact.temperature,
        "epochs": fact.cost.epochs,
        "kept_epoch": fact.kept_epoch,
        "steps": fact.cost.steps,
        "tokens": fact.cost.tokens,
        "training_time": fact.training_time,
        **{f"change_{name}": value for name, value in fact.changes.items()},
        "mean_score": sum(fact.scores) / len(fact.scores) if fact.scores else None,
    }


def _measures(split: str, metrics: Metrics | None) -> Run:
    return {f"{split}_{name}": getattr(metrics, name) if metrics else None for name in MEASURES}


def plain_rows(frame: pd.DataFrame) -> list[Run]:
    """The rows of a frame, None where a value is missing."""
    return [
        {str(name): None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def rules(specs: Iterable[str]) -> dict[str, Rule]:
    """The rules of those schedules that switch by a signal."""
    found = {spec: schedule_of(spec).rule for spec in specs}
    return {spec: rule for spec, rule in found.items() if rule is not None}


def distinct(rows: Iterable[Run], name: str) -> list[Any]:
    """The values of a factor in the order of the study."""
    return list(dict.fromkeys(row[name] for row in rows))


def those(rows: Iterable[Run], **factors: Any) -> list[Run]:
    """The rows that have these values."""
    return [row for row in rows if all(row[name] == value for name, value in factors.items())]


def values(rows: Iterable[Run], column: str) -> list[float]:
    """The numbers of a column, without the missing ones."""
    return [row[column] for row in rows if row[column] is not None]


def grouped(rows: Iterable[Run], key: Callable[[Run], Any]) -> dict[Any, list[Run]]:
    """The rows by what a key says of them."""
    found: dict[Any, list[Run]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def cell_of(row: Run) -> tuple[Any, ...]:
    """What two runs share that may be compared pair by pair."""
    return tuple(row[name] for name in CELL)


def paired(new: Iterable[Run], reference: Iterable[Run], column: str) -> tuple[list[float], list[float]]:
    """The numbers of both, side by side, for the cells in which both have one."""
    known = {cell_of(row): row[column] for row in reference if row[column] is not None}
    pairs = [(row[column], known[cell_of(row)]) for row in new if row[column] is not None and cell_of(row) in known]
    return [one for one, _ in pairs], [other for _, other in pairs]
