"""Runs a study: the cells that are not complete, on an engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hybridal.core.observer import Observer
from hybridal.runs.assemble import find_task, surroundings
from hybridal.runs.run import check
from hybridal.study.engines import CellOutcome, Engine, Here
from hybridal.study.folder import StudyFolder, task_key
from hybridal.study.study import Study


def begin_study(
    study: Study, path: Path, engine: Engine | None = None, observer: Observer | None = None
) -> StudyFolder:
    """The study's folder, with all its tasks found and checked; nothing is computed yet.

    The engine that will compute (default: this process) is asked for the device.
    """
    device = (engine or Here()).device(study.device)
    observer = observer or Observer()
    one_of_each = {task_key(cell.settings): cell for cell in study.cells()}
    tasks = {key: find_task(cell.settings, observer.message) for key, cell in one_of_each.items()}
    for cell in study.cells():
        for spec in cell.schedules:
            # The engine knows of its devices; this machine's say nothing about them.
            check(replace(cell.settings, schedule=spec, device="cpu"), tasks[task_key(cell.settings)])
    about = {"created": datetime.now(UTC).isoformat(timespec="seconds"), **surroundings("cpu")}
    about["hardware"]["device"] = device
    return StudyFolder.create(path, study, about, tasks)


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
