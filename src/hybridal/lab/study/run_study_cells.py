"""Run the incomplete cells of a study on an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hybridal.acquisition import ACQUISITIONS
from hybridal.backbones import candidate_names, with_candidates
from hybridal.core.observer import Observer
from hybridal.core.rules import Rules
from hybridal.lab.study.engines import CellOutcome, Engine, Here
from hybridal.lab.study.study import Study
from hybridal.lab.study.study_folder import StudyFolder, task_key
from hybridal.runs.assemble import Notify, find_task, silent, surroundings
from hybridal.runs.checks import check, check_backbone
from hybridal.runs.environments import record_environment
from hybridal.runs.settings import Settings
from hybridal.signals import SIGNALS
from hybridal.tasks import Split, Task
from hybridal.tasks.task_loading import is_local

_NO_TEXTS = Task("", (), Split.empty(), Split.empty(), Split.empty())


def begin_study(
    study: Study, path: Path, engine: Engine | None = None, observer: Observer | None = None
) -> StudyFolder:
    """Find and check all tasks of a study and create its folder; nothing is computed yet.

    Args:
        study: The study.
        path: The folder to create.
        engine: What will compute the cells (default: this process). It describes the device.
        observer: Receives messages about downloads and anomalies in the data.

    Returns:
        The study folder.

    Raises:
        UserError: For the first cell that cannot work, or if the folder is in use.
    """
    here, notify = _surroundings(engine or Here(), study.device), (observer or Observer()).message
    study = replace(study, backbones=tuple(with_candidates(name, _NO_TEXTS, notify) for name in study.backbones))
    tasks = checked_tasks(study, notify)
    about = {"created": datetime.now(UTC).isoformat(timespec="seconds"), **here}
    return StudyFolder.create(path, study, about, tasks)


def checked_tasks(study: Study, notify: Notify = silent, fetch: bool = True) -> dict[str, Task]:
    """Return the tasks of a study by key, after all checks that need no training.

    With `fetch` False, benchmarks that would have to be downloaded are left out; of their cells only backbones and the
    names of components are checked. Backbones are then not downloaded either.
    """
    for spec in study.acquisition_spec:
        ACQUISITIONS.make(spec)
    for spec in study.signals:
        SIGNALS.make(spec)
    cells = [cell for cell in study.cells() if fetch or is_local(cell.settings.task)]
    one_of_each = {task_key(cell.settings): cell.settings for cell in cells}
    tasks = {key: find_task(settings, notify) for key, settings in one_of_each.items()}
    for cell in cells:
        for spec in cell.schedules:
            # The engine checks the device, which may be on another machine.
            check(replace(cell.settings, schedule=spec, device="cpu"), tasks[task_key(cell.settings)])
    for settings, task in _one_per_backbone(study, tasks):
        check_backbone(settings, task, notify, download=fetch)
    return tasks


def _one_per_backbone(study: Study, tasks: Mapping[str, Task]) -> Iterable[tuple[Settings, Task]]:
    """Return one task for each backbone and protocol; only `tiny` needs its texts."""
    found: dict[tuple[str, Rules], tuple[Settings, Task]] = {}
    for settings in (cell.settings for cell in study.cells()):
        task = tasks.get(task_key(settings), _NO_TEXTS)
        if task is not _NO_TEXTS or "tiny" not in candidate_names(settings.backbone):
            found[settings.backbone, settings.rules] = settings, task
    return found.values()


def reopen_study(folder: StudyFolder, engine: Engine, notify: Notify = silent) -> None:
    """Refuse a missing device, and record the environment of the rounds to come if it has changed."""
    here = _surroundings(engine, folder.device)
    recorded = {cell.key: len(folder.rounds_by_sequence(cell)) for cell in folder.cells if not folder.complete(cell)}
    if recorded:
        record_environment(folder.path, folder.about(), here, recorded, notify)


def _surroundings(engine: Engine, device: str) -> dict[str, Any]:
    """Versions of this machine, which Ray workers must have too, and the device that the engine reports."""
    words, here = engine.device(device), surroundings("cpu", Rules())
    return {**here, "hardware": {**here["hardware"], "device": words}}


def run_study(
    folder: StudyFolder, engine: Engine, done: Callable[[CellOutcome], None] = lambda _: None
) -> list[CellOutcome]:
    """Compute the missing rounds. A failed cell is reported and does not stop the others."""
    folder.tidy()
    left = [cell for cell in folder.cells if not folder.complete(cell)]
    outcomes = []
    for outcome in engine.run(folder, left):
        done(outcome)
        outcomes.append(outcome)
    return outcomes
