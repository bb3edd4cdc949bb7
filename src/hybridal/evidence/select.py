"""The ways in which tables and figures take the runs of a study apart."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from hybridal.evidence.history import Rule, detector_of
from hybridal.evidence.results import Results, Run, schedule_of
from hybridal.study.folder import task_key

if TYPE_CHECKING:
    import pandas as pd

CELL = ["task", "backbone", "acquisition", "variant", "seed"]
RETRAIN, FINETUNE = "retrain", "finetune"
Cost = Literal["steps", "seconds"]

# With fewer seeds a band would say more about the tasks than about chance.
SEEDS_FOR_A_BAND = 3
# More lines than this cannot be told apart, whatever their colours.
MOST_METHODS = 12


def distinct(rows: Iterable[Run], name: str) -> list[Any]:
    """The values of a factor in the order of the study.

    >>> distinct([{"seed": 43}, {"seed": 42}, {"seed": 43}], "seed")
    [43, 42]
    """
    return list(dict.fromkeys(row[name] for row in rows))


def those(rows: Iterable[Run], **factors: Any) -> list[Run]:
    """The rows that have these values.

    >>> those([{"seed": 42, "f1": 0.5}, {"seed": 43, "f1": 0.6}], seed=43)
    [{'seed': 43, 'f1': 0.6}]
    """
    return [row for row in rows if all(row[name] == value for name, value in factors.items())]


def values(rows: Iterable[Run], column: str) -> list[float]:
    """The numbers of a column, without the missing ones."""
    return [row[column] for row in rows if row[column] is not None]


def cell_of(row: Run) -> tuple[Any, ...]:
    """What two runs share that may be compared pair by pair."""
    return tuple(row[name] for name in CELL)


def paired(new: Iterable[Run], reference: Iterable[Run], column: str) -> tuple[list[float], list[float]]:
    """The numbers of both, side by side, for the cells in which both have one.

    >>> cell = {"task": "a", "backbone": "b", "acquisition": "c", "variant": "", "f1": 0.5}
    >>> paired([{**cell, "seed": 1}, {**cell, "seed": 2}], [{**cell, "seed": 2, "f1": 0.6}], "f1")
    ([0.5], [0.6])
    """
    known = {cell_of(row): row[column] for row in reference if row[column] is not None}
    pairs = [(row[column], known[cell_of(row)]) for row in new if row[column] is not None and cell_of(row) in known]
    return [one for one, _ in pairs], [other for _, other in pairs]


def hybrids(specs: Iterable[str]) -> dict[str, Rule]:
    """The rules of those schedules that decide by a signal."""
    found = {spec: detector_of(schedule_of(spec)) for spec in specs}
    return {spec: Rule(spec, *rule) for spec, rule in found.items() if rule is not None}


def comparable(results: Results) -> Results | None:
    """The runs that may be compared: of cells in which every schedule is complete, in one setting.

    None where there are none, and where acquisitions or protocols vary: a mean over them would mean nothing. A fixed
    switch in the first round is FineTune and one after the last is Retrain; they are called so where those are missing.
    """
    runs, rounds = results.runs, results.rounds
    if runs.empty or len(runs[["acquisition", "variant"]].drop_duplicates()) > 1:
        return None
    pure = _pure(runs)
    runs = runs.assign(schedule=runs["schedule"].replace(pure))
    rounds = rounds.assign(schedule=rounds["schedule"].replace(pure))
    whole = runs.groupby(CELL)["schedule"].nunique() == runs["schedule"].nunique()
    kept = whole[whole].reset_index()[CELL]
    if kept.empty:
        return None
    return replace(results, runs=runs.merge(kept, on=CELL), rounds=rounds.merge(kept, on=CELL))


def _pure(runs: pd.DataFrame) -> dict[str, str]:
    known = list(runs["schedule"].unique())
    last = int(runs["rounds"].max()) + 1
    pure = {FINETUNE: "fixed:1", RETRAIN: f"fixed:{last}"}
    return {fixed: name for name, fixed in pure.items() if name not in known and fixed in known}


def methods(runs: pd.DataFrame, fixed: bool = True) -> list[str]:
    """The schedules in the study's order; none where there are too many for one figure.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"schedule": ["retrain", "fixed:3", "retrain", "fixed:5"]})
    >>> methods(table), methods(table, fixed=False)
    (['retrain', 'fixed:3', 'fixed:5'], ['retrain'])
    """
    chosen = [spec for spec in specs_of(runs) if fixed or not spec.startswith("fixed:")]
    return chosen if len(chosen) <= MOST_METHODS else []


def specs_of(runs: pd.DataFrame) -> list[str]:
    """All schedules, in the study's order."""
    return [str(spec) for spec in runs["schedule"].unique()]


def measured_split(runs: pd.DataFrame) -> str | None:
    """The split on which every run's end was measured: test, else validation, else None."""
    for split in ("test", "validation"):
        if runs[[f"{split}_f1", f"{split}_nll"]].notna().all(axis=None):
            return split
    return None


def cost_column(runs: pd.DataFrame, cost: Cost) -> str | None:
    """The column of a cost; None where it was not recorded."""
    column = {"steps": "steps", "seconds": "training_time"}[cost]
    return column if (runs[column] > 0).all() else None


def by_family(found: Results) -> Iterator[tuple[str, Results]]:
    """The study in parts: tasks of two classes, and of more. One part where the number of classes is not known."""
    known = _families(found)
    family = found.runs["task"].map(known), found.rounds["task"].map(known)
    if family[0].isna().any():
        yield "All tasks", found
        return
    for name in ("Binary", "Multi-class"):
        runs, rounds = found.runs[family[0] == name], found.rounds[family[1] == name]
        if len(runs):
            few = "task" if runs["task"].nunique() == 1 else "tasks"
            yield f"{name} {few}", replace(found, runs=runs, rounds=rounds)


def _families(found: Results) -> dict[str, str]:
    """By task, whether it has two classes or more, as far as the study's folder knows."""
    known: dict[str, str] = {}
    for cell in found.folder.cells:
        # Not `folder.task`, which would read every text.
        file = found.folder.task_home(task_key(cell.settings)) / "task.json"
        if cell.settings.task not in known and file.is_file():
            classes = len(json.loads(file.read_text(encoding="utf-8"))["classes"])
            known[cell.settings.task] = "Binary" if classes == 2 else "Multi-class"
    return known


def run_changes(rounds: pd.DataFrame, spec: str, signal: str) -> dict[tuple[str, str, int], list[float | None]]:
    """The changes of a signal in each run of a schedule, by (task, backbone, seed), in the order of rounds."""
    own = rounds[rounds["schedule"] == spec].sort_values("round", kind="stable")
    found: dict[tuple[str, str, int], list[float | None]] = {}
    for task, backbone, seed, change in own[["task", "backbone", "seed", f"change_{signal}"]].itertuples(index=False):
        found.setdefault((task, backbone, seed), []).append(
            None if change is None or math.isnan(change) else float(change)
        )
    return found
