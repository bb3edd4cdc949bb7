"""What figures ask of a study's two tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Literal

import pandas as pd

from hybridal.evidence.results import Results
from hybridal.schedules import make_schedule
from hybridal.schedules.hybrid import HybridAL
from hybridal.study.folder import StudyFolder, task_key

CELL = ["task", "backbone", "acquisition", "variant", "seed"]
Cost = Literal["steps", "seconds"]

# With fewer seeds a band would say more about the tasks than about chance.
SEEDS_FOR_A_BAND = 3
# More bands than this make one grey cloud.
MOST_BANDS = 6
# More lines than this cannot be told apart, whatever their colours.
MOST_METHODS = 12


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
    return Results(runs.merge(kept, on=CELL), rounds.merge(kept, on=CELL))


def _pure(runs: pd.DataFrame) -> dict[str, str]:
    known = list(runs["schedule"].unique())
    last = int(runs["rounds"].max()) + 1
    pure = {"finetune": "fixed:1", "retrain": f"fixed:{last}"}
    return {fixed: name for name, fixed in pure.items() if name not in known and fixed in known}


def methods(runs: pd.DataFrame, fixed: bool = True) -> list[str]:
    """The schedules in the study's order; none where there are too many for one figure.

    >>> table = pd.DataFrame({"schedule": ["retrain", "fixed:3", "retrain", "fixed:5"]})
    >>> methods(table), methods(table, fixed=False)
    (['retrain', 'fixed:3', 'fixed:5'], ['retrain'])
    """
    found = [str(spec) for spec in runs["schedule"].unique()]
    chosen = [spec for spec in found if fixed or not spec.startswith("fixed:")]
    return chosen if len(chosen) <= MOST_METHODS else []


def hybrids(specs: Sequence[str]) -> dict[str, HybridAL]:
    """Those of the schedules that watch a signal, made."""
    made = {spec: make_schedule(spec) for spec in specs if spec.startswith("hybrid")}
    return {spec: schedule for spec, schedule in made.items() if isinstance(schedule, HybridAL)}


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


def by_family(found: Results, folder: StudyFolder) -> Iterator[tuple[str, Results]]:
    """The study in parts: tasks of two classes, and of more. One part where the number of classes is not known."""
    known = families(folder)
    family = found.runs["task"].map(known), found.rounds["task"].map(known)
    if family[0].isna().any():
        yield "All tasks", found
        return
    for name in ("Binary", "Multi-class"):
        runs, rounds = found.runs[family[0] == name], found.rounds[family[1] == name]
        if len(runs):
            yield f"{name} {'task' if runs['task'].nunique() == 1 else 'tasks'}", Results(runs, rounds)


def families(folder: StudyFolder) -> dict[str, str]:
    """By task, whether it has two classes or more, as far as the study's folder knows."""
    found: dict[str, str] = {}
    for cell in folder.cells:
        if cell.settings.task not in found:
            # Not `folder.task`, which would read every text.
            file = folder.task_home(task_key(cell.settings)) / "task.json"
            if file.is_file():
                classes = len(json.loads(file.read_text(encoding="utf-8"))["classes"])
                found[cell.settings.task] = "Binary" if classes == 2 else "Multi-class"
    return found


def run_changes(rounds: pd.DataFrame, spec: str, signal: str) -> dict[tuple[str, str, int], list[float | None]]:
    """The changes of a signal in each run of a schedule, by (task, backbone, seed), in the order of rounds."""
    own = rounds[rounds["schedule"] == spec].sort_values("round", kind="stable")
    found: dict[tuple[str, str, int], list[float | None]] = {}
    for task, backbone, seed, change in own[["task", "backbone", "seed", f"change_{signal}"]].itertuples(index=False):
        found.setdefault((task, backbone, seed), []).append(None if pd.isna(change) else float(change))
    return found
