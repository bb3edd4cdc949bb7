"""All checks before a run starts; a dry run makes the same ones."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hybridal.annotators.labels_file import check_labels_file
from hybridal.backbones import (
    Backbone,
    candidate_names,
    load_backbone,
    local_backbone,
    remote_limits,
    with_candidates,
)
from hybridal.backbones.weights import check_weights
from hybridal.core.observer import Observer
from hybridal.core.outputs import UNKNOWN
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.runs.assemble import Notify, check_signals, find_task, make_model_annotator, watched
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.schedules import make_schedule
from hybridal.system.background_imports import import_in_thread, import_later
from hybridal.tasks.label_cells import CellReader
from hybridal.tasks.task import Task
from hybridal.trackers import TRACKERS

# Imported in the background: the first round fits its temperature with it.
FIRST_ROUND_IMPORTS = ("scipy.optimize",)


@dataclass(frozen=True)
class Inputs:
    """What `check_start` has loaded.

    Attributes:
        settings: The settings, with the candidates of `backbone: auto` written out.
        task: The task.
        backbone: The backbone if there is only one, and it is on this machine.
    """

    settings: Settings
    task: Task
    backbone: Backbone | None


def check_start(
    settings: Settings,
    path: Path,
    observer: Observer,
    schedules: Sequence[str] = (),
    download: bool = True,
) -> Inputs:
    """Check the output folder, the data, the settings, the labels file and the backbone of a run.

    Args:
        settings: The settings of the run.
        path: The folder of the run. Nothing is left there.
        observer: Receives messages about downloads and about oddities in the data.
        schedules: Specs of all schedules of a comparison; by default the one of the settings.
        download: Download a backbone that is not on this machine. A dry run does not: of such a backbone, only layers
            and positions are checked, and the observer gets a message; any other reads some texts, as a run does first.

    Returns:
        The settings, the task as the run learns it, and the backbone, so that the run need not load them again.

    Raises:
        UserError: For the first check that fails.
    """
    RunFolder(path).refuse_others()
    check_writable(path)
    task = find_task(settings, observer.message)
    if schedules and (unknown := unlabelled(task)):
        raise UserError(
            f"A comparison simulates its labels, and {unknown} of the {len(task.train)} texts of task '{task.name}' "
            f"have none; {_how_to_write_none(task)}leave those out of the file."
        )
    for spec in schedules or [settings.schedule]:
        check(replace(settings, schedule=spec), task)
    if settings.labels is not None:
        cells = CellReader(task.classes, task.multi_label, settings.label_separator)
        check_labels_file(Path(settings.labels), cells, {*task.train.ids, *task.validation.ids})
    if download:
        settings = replace(settings, backbone=with_candidates(settings.backbone, task, observer.message))
    return Inputs(settings, task, check_backbone(settings, task, observer.message, download))


def check_backbone(settings: Settings, task: Task, notify: Notify, download: bool) -> Backbone | None:
    """Check the files of all candidates, or only the limits of one that is not downloaded.

    Returns:
        The backbone, if there is only one and it is on this machine.
    """
    found = [
        _check_candidate(name, settings.rules, task, notify, download) for name in candidate_names(settings.backbone)
    ]
    return found[0] if len(found) == 1 else None


def _check_candidate(name: str, rules: Rules, task: Task, notify: Notify, download: bool) -> Backbone | None:
    backbone = load_backbone(name, task, notify) if download else local_backbone(name, task)
    if backbone is None:
        remote_limits(name).check(rules.max_length, rules.train_layers)
        notify(
            f"Backbone '{name}' is not on this machine yet: the run downloads it first, and its files are not checked."
        )
        return None
    backbone.limits.check(rules.max_length, rules.train_layers)
    backbone.encoder(rules.max_length)
    check_weights(backbone.folder)
    # Raises if the backbone was trained with a pooling that we do not have.
    if rules.pooling == "auto" and not backbone.knows_pooling:
        notify(
            f"Backbone '{name}' does not state its pooling (it has no 1_Pooling/config.json), so only the first token "
            "of a text is read; if it is a sentence encoder, choose `pooling=mean`."
        )
    if not download:
        from hybridal.models.encoder_check import SAMPLE, check_encoder

        check_encoder(backbone, rules, task.train.texts[:2] or SAMPLE)
    return backbone


def check_writable(path: Path) -> None:
    """Refuse a folder that cannot be created, by creating and removing one in the nearest existing parent."""
    home = next((parent for parent in (path, *path.parents) if parent.exists()), Path())
    try:
        with tempfile.TemporaryDirectory(prefix=".hybridal-", dir=home):
            pass
    except OSError as error:
        raise UserError(
            f"The run folder {path} cannot be written ({error.strerror}); choose another `folder`.", field="folder"
        ) from error


def check(settings: Settings, task: Task) -> None:
    """Refuse settings that cannot work on this task."""
    from hybridal.acquisition import ACQUISITIONS, check_objective
    from hybridal.loop.initial import check_initial

    preload_torch()
    from hybridal.models.device import choose_device

    signals = watched(settings, make_schedule(settings.schedule))
    check_objective(ACQUISITIONS.make(settings.acquisition_spec), task.multi_label)
    if settings.tracker is not None:
        TRACKERS.make(settings.tracker)
    choose_device(settings.device)
    if settings.annotator is not None:
        make_model_annotator(settings)
    if settings.labels is None and settings.annotator is None and (unknown := unlabelled(task)):
        raise UserError(
            f"{unknown} of the {len(task.train)} texts of task '{task.name}' have no label; "
            f"{_how_to_write_none(task)}give `labels` a file to label them as they are chosen, or leave them "
            "out of the file to simulate with the others.",
            field="labels",
        )
    known = int((task.validation.labels != UNKNOWN).sum())
    check_signals(signals, settings.rules, task, len(task.validation) if settings.labels else known)
    check_initial(task, settings.rules, settings.seed)


def unlabelled(task: Task) -> int:
    """Return how many training texts have no label."""
    return int((task.train.labels == UNKNOWN).sum())


def _how_to_write_none(task: Task) -> str:
    """Return what to do about empty cells that mean that a text has no class, if it may have several."""
    return "write [] where a text has none of the classes, or " if task.multi_label else ""


def preload_torch() -> None:
    """Start importing torch in a thread, then what the end of the first round needs."""
    import_in_thread("torch", [])
    import_later(FIRST_ROUND_IMPORTS)
