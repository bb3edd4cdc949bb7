"""A study that takes seconds, and its records."""

from __future__ import annotations

import csv
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hybridal.lab.study.engines import CellOutcome, Engine
from hybridal.lab.study.run_study_cells import run_study
from hybridal.lab.study.study import CellPlan, Study
from hybridal.lab.study.study_folder import StudyFolder, task_key
from hybridal.runs.assemble import find_task
from hybridal.tasks.store import save_task
from hybridal.testing.small import toy_task

Facts = dict[str, dict[str, Any]]

RULES = {
    "rounds": 4,
    "initial": 12,
    "batch": 4,
    "candidates": 40,
    "max_epochs": 2,
    "learning_rate": 1e-3,
    "train_batch": 8,
}


def write_texts(folder: Path) -> dict[str, str]:
    """The toy task as CSV files, and the settings that name it."""
    task = toy_task()
    for name, split in task.splits():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["id", "text", "label"])
            labels = (task.classes[label] for label in split.labels)
            rows.writerows(zip(split.ids, split.texts, labels, strict=True))
    held_out = {name: str(folder / f"{name}.csv") for name in ("validation", "test")}
    return {"task": str(folder / "train.csv"), "text": "text", "label": "label", "id": "id", **held_out}


def small_study(task: dict[str, str], **changes: Any) -> Study:
    """Two cells of eight rounds each."""
    overrides = {**RULES, **changes.pop("overrides", {})}
    asked: dict[str, Any] = {
        "schedules": ("retrain", "finetune", "fixed:3"),
        "backbones": ("tiny",),
        "seeds": (1, 2),
        "protocol": "quick",
        "device": "cpu",
        **changes,
    }
    return Study("small", tasks=(task,), overrides=overrides, **asked)


def begun(path: Path, study: Study) -> StudyFolder:
    """Like `begin_study`, but without its checks: some of these studies cannot work."""
    folder = StudyFolder.create(path, study, {})
    for cell in folder.cells:
        home = folder.task_home(task_key(cell.settings))
        if not home.is_dir():
            save_task(find_task(cell.settings), home)
    return folder


def run(folder: StudyFolder, engine: Engine) -> dict[str, CellOutcome]:
    return {outcome.key: outcome for outcome in run_study(folder, engine)}


def recorded_rounds(folder: StudyFolder) -> dict[str, Facts]:
    """Every record of every cell by its update sequence, without seconds; each must exist once."""
    return {cell.key: _recorded_rounds(folder, cell) for cell in folder.cells}


def _recorded_rounds(folder: StudyFolder, cell: CellPlan) -> Facts:
    lines = folder.journal(cell).read()
    twice = [sequence for sequence, count in Counter(line["update_sequence"] for line in lines).items() if count > 1]
    assert not twice, f"{cell.key} has {twice} more than once"
    return {
        line["update_sequence"]: {name: value for name, value in line.items() if name != "seconds"} for line in lines
    }


def rounds(folder: StudyFolder, cell: CellPlan) -> int:
    return len(folder.journal(cell).read())


@contextmanager
def once(happened: Callable[[], bool], act: Callable[[], None], patience: float = 150.0) -> Iterator[None]:
    """Calls `act` in a thread next to the block as soon as `happened()`; fails if that never comes."""
    acted = threading.Event()

    def watch() -> None:
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if happened():
                act()
                acted.set()
                return
            time.sleep(0.01)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    yield
    watcher.join()
    assert acted.is_set(), "what was waited for never happened"
