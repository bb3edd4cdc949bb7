"""What runs acquired, and the labels and pools to hold it against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hybridal.core.facts import Round
from hybridal.evidence.looks import distinct_names
from hybridal.evidence.results import factors
from hybridal.evidence.tables._runs import RETRAIN, Run, distinct, those
from hybridal.study.folder import StudyFolder, task_key
from hybridal.study.study import CellPlan

BEFORE, AFTER = "Before the switch", "After the switch"
Labels = dict[str, dict[str, str]]
Pools = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Acquired:
    """A run that retrains until it fine-tunes, if it does: its rounds, and the last one before the switch."""

    history: Sequence[Round]
    t_star: int | None
    cell: CellPlan


def acquiring_runs(folder: StudyFolder) -> list[Run]:
    """Runs that retrain and then fine-tune, or do one of both alone; a row each, with its `run`."""
    rows: list[Run] = []
    for cell in folder.cells:
        for spec, history in folder.histories(cell).items():
            updates = [fact.update for fact in history]
            if len(history) < cell.settings.rules.rounds or not any(fact.acquired for fact in history):
                continue
            first = updates.index("finetune") if "finetune" in updates else None
            if set(updates[:first]) <= {"retrain"} and (first is None or set(updates[first:]) == {"finetune"}):
                rows.append({**factors(cell, spec), "run": Acquired(history, first, cell)})
    return rows


def ids_before_after(runs: Sequence[Acquired]) -> tuple[list[str], list[str]]:
    before: list[str] = []
    after: list[str] = []
    for run in runs:
        for fact in run.history:
            part = before if run.t_star is None or fact.round <= run.t_star else after
            part += fact.acquired
    return before, after


def labels_and_pools(
    folder: StudyFolder, rows: Sequence[Run]
) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, int]]]:
    """By task the labels of all that was acquired, and by its key the classes of the pool; texts are not kept."""
    labels: Labels = {}
    pools: Pools = {}
    for row in rows:
        run: Acquired = row["run"]
        key = task_key(run.cell.settings)
        if key not in pools:
            task = folder.task(run.cell)
            counts = [int(np.count_nonzero(task.train.labels == label)) for label in range(len(task.classes))]
            pools[key] = dict(zip(task.classes, counts, strict=True))
            same = [other["run"] for other in rows if task_key(other["run"].cell.settings) == key]
            acquired = {id for one_run in same for fact in one_run.history for id in fact.acquired}
            labels.setdefault(row["task"], {}).update(task.answers(sorted(acquired)))
    return labels, pools


def task_is_there(folder: StudyFolder, cell: CellPlan) -> bool:
    return (folder.task_home(task_key(cell.settings)) / "task.json").is_file()


def switching_methods(rows: Sequence[Run]) -> Iterator[tuple[str, list[Run]]]:
    """All methods but Retrain, with their runs."""
    for spec, name in distinct_names(distinct(rows, "schedule")).items():
        if spec != RETRAIN:
            yield name, those(rows, schedule=spec)
