"""Everything that is checked before a run begins, by the run itself and by a dry run."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hybridal.annotators.labels_file import check_labels_file
from hybridal.backbones import load_backbone, local_backbone, remote_limits
from hybridal.backbones.weights import check_weights
from hybridal.core.observer import Observer
from hybridal.core.outputs import UNKNOWN
from hybridal.errors import UserError
from hybridal.runs.assemble import check_signals, find_task, watched
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.schedules import make_schedule
from hybridal.system.background_imports import import_in_thread, import_later
from hybridal.tasks.task import Task
from hybridal.trackers import TRACKERS

# What temperatures are fitted with, in the first round.
TEMPERATURES = ("scipy.optimize",)


def check_start(
    settings: Settings,
    path: Path,
    observer: Observer,
    schedules: Sequence[str] = (),
    download: bool = True,
) -> Task:
    """Check the output folder, the data, the settings, the labels file and the backbone of a run.

    Args:
        settings: What was asked for.
        path: The folder that the run would get. Nothing is left there.
        observer: Told of downloads and of what is odd about the data.
        schedules: Specs of all schedules of a comparison; by default the one of the settings.
        download: Bring the backbone here. Otherwise the weights of one that is not here are not downloaded, its layers
            and positions are checked all the same, and the observer is told.

    Returns:
        The task, as the run would learn it.

    Raises:
        UserError: For the first thing that cannot work.
    """
    RunFolder(path).refuse_others()
    check_writable(path)
    task = find_task(settings, observer.message)
    if schedules and (unknown := unlabelled(task)):
        raise UserError(
            f"A comparison simulates its labels, and {unknown} of the {len(task.train)} texts of task '{task.name}' "
            "have none; leave those out of the file."
        )
    for spec in schedules or [settings.schedule]:
        check(replace(settings, schedule=spec), task)
    if settings.labels is not None:
        check_labels_file(Path(settings.labels), task.classes, {*task.train.ids, *task.validation.ids})
    check_backbone(settings, task, observer, download)
    return task


def check_backbone(settings: Settings, task: Task, observer: Observer, download: bool) -> None:
    """Check a backbone's files; of one that is not downloaded, its layers and positions."""
    rules, name = settings.rules, settings.backbone
    backbone = load_backbone(name, task, observer.message) if download else local_backbone(name, task)
    if backbone is None:
        remote_limits(name).check(rules.max_length, rules.train_layers)
        observer.message(
            f"Backbone '{name}' is not on this machine yet: the run downloads it first, and its files are not checked."
        )
        return
    backbone.limits.check(rules.max_length, rules.train_layers)
    backbone.encoder(rules.max_length)
    check_weights(backbone.folder)
    if rules.pooling == "auto":
        _ = backbone.pooling  # which may be one that we do not have


def check_writable(path: Path) -> None:
    """Refuse a folder that cannot be made, by making and removing one where it would lie."""
    home = next((place for place in (path, *path.parents) if place.exists()), Path())
    try:
        with tempfile.TemporaryDirectory(prefix=".hybridal-", dir=home):
            pass
    except OSError as error:
        raise UserError(
            f"The run folder {path} cannot be written ({error.strerror}); choose another `folder`.", field="folder"
        ) from error


def check(settings: Settings, task: Task) -> None:
    """Refuse settings that cannot work on this task."""
    from hybridal.acquisition import ACQUISITIONS
    from hybridal.loop.initial import check_initial

    bring_torch()
    from hybridal.models.device import choose_device

    signals = watched(settings, make_schedule(settings.schedule))
    ACQUISITIONS.make(settings.acquisition_spec)
    if settings.tracker is not None:
        TRACKERS.make(settings.tracker)
    choose_device(settings.device)
    if settings.labels is None and (unknown := unlabelled(task)):
        raise UserError(
            f"{unknown} of the {len(task.train)} texts of task '{task.name}' have no label; give `labels` a file to "
            "label them as they are chosen, or leave them out of the file to simulate with the others.",
            field="labels",
        )
    known = int((task.validation.labels != UNKNOWN).sum())
    check_signals(signals, settings.rules, task, len(task.validation) if settings.labels else known)
    check_initial(task, settings.rules, settings.seed)


def unlabelled(task: Task) -> int:
    """How many texts to learn from have no label."""
    return int((task.train.labels == UNKNOWN).sum())


def bring_torch() -> None:
    """Import torch in a thread, then what the end of the first round needs."""
    import_in_thread("torch", [])
    import_later(TEMPERATURES)
