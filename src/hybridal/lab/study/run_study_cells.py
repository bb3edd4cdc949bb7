"""Runs a study: the cells that are not complete, on an engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hybridal.acquisition import ACQUISITIONS
from hybridal.core.observer import Observer
from hybridal.lab.study.engines import CellOutcome, Engine, Here
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_folder import StudyFolder, task_key
from hybridal.runs.assemble import Notify, find_task, silent, surroundings
from hybridal.runs.checks import check
from hybridal.runs.environments import record_environment
from hybridal.signals import SIGNALS
from hybridal.tasks import Task
from hybridal.tasks.task_loading import lies_here


def begin_study(
    study: Study, path: Path, engine: Engine | None = None, observer: Observer | None = None
) -> StudyFolder:
    """The study's folder, with all its tasks found and checked; nothing is computed yet.

    The engine that will compute (default: this process) is asked for the device.
    """
    here = _surroundings(engine or Here(), study.device)
    tasks = checked_tasks(study, (observer or Observer()).message)
    about = {"created": datetime.now(UTC).isoformat(timespec="seconds"), **here}
    return StudyFolder.create(path, study, about, tasks)


def checked_tasks(study: Study, notify: Notify = silent, fetch: bool = True) -> dict[str, Task]:
    """The tasks of a study by their keys, after all checks of its cells that need no training.

    Without `fetch`, benchmarks that would have to come from the hub first are left out, and of their cells only the
    names of components are checked.
    """
    for spec in study.acquisition_spec:
        ACQUISITIONS.make(spec)
    for spec in study.signals:
        SIGNALS.make(spec)
    cells = [cell for cell in study.cells() if fetch or lies_here(cell.settings.task)]
    one_of_each = {task_key(cell.settings): cell.settings for cell in cells}
    tasks = {key: find_task(settings, notify) for key, settings in one_of_each.items()}
    for cell in cells:
        for spec in cell.schedules:
            # The engine knows of its devices; this machine's say nothing about them.
            check(replace(cell.settings, schedule=spec, device="cpu"), tasks[task_key(cell.settings)])
    return tasks


def reopen_study(folder: StudyFolder, engine: Engine, notify: Notify = silent) -> None:
    """Refuses a device that is not there; what comes now is recorded as computed with it, if that is another."""
    here = _surroundings(engine, folder.device)
    recorded = {cell.key: len(folder.facts(cell)) for cell in folder.cells if not folder.complete(cell)}
    if recorded:
        record_environment(folder.path, folder.about(), here, recorded, notify)


def _surroundings(engine: Engine, device: str) -> dict[str, Any]:
    """Versions are those of this machine, which Ray's workers must have too; of devices, the engine knows its own."""
    words, here = engine.device(device), surroundings("cpu")
    return {**here, "hardware": {**here["hardware"], "device": words}}


def run_study(
    folder: StudyFolder, engine: Engine, done: Callable[[CellOutcome], None] = lambda _: None
) -> list[CellOutcome]:
    """Computes what is missing. A cell that fails is reported and does not stop the others."""
    folder.tidy()
    left = [cell for cell in folder.cells if not folder.complete(cell)]
    outcomes = []
    for outcome in engine.run(folder, left):
        done(outcome)
        outcomes.append(outcome)
    return outcomes
