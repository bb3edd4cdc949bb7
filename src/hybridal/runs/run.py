"""A run from its beginning, or from where it was left, to its exported model."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hybridal.annotators.labels_file import LabelsFile
from hybridal.core.observer import LoggingObserver, Observer
from hybridal.core.outputs import UNKNOWN
from hybridal.core.rounds import Round
from hybridal.core.rules import Rules
from hybridal.errors import RunError, UserError
from hybridal.loop.loop import State, StopCriterion, active_learning, is_finished
from hybridal.measures.advice import advise, texts_left, used_up
from hybridal.runs import checkpoint
from hybridal.runs.assemble import build_experiment, build_model, surroundings, watched
from hybridal.runs.background_writer import BackgroundWriter
from hybridal.runs.checks import check_start, preload_torch
from hybridal.runs.environments import record_environment
from hybridal.runs.export import export_model
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.schedules import make_schedule
from hybridal.system.files import strict_json, write_whole
from hybridal.tasks.task import Task
from hybridal.trackers import TRACKERS, Tracking

if TYPE_CHECKING:
    from hybridal.models.transformer import TransformerModel


def begin(settings: Settings, path: Path, observer: Observer | None = None) -> RunFolder:
    """Check the settings and the data, and create the run folder; nothing is trained yet.

    Args:
        settings: The settings of the run.
        path: A folder that does not hold a run.
        observer: Receives messages; by default they are logged.

    Returns:
        The folder, for `resume_run`. It keeps the task and the backbone in memory, so that they are not loaded twice.

    Raises:
        UserError: For the first check that fails.
    """
    inputs = check_start(settings, path, observer or LoggingObserver())
    if settings.labels is not None:  # `resume` may be called from another working directory
        settings = replace(settings, labels=str(Path(settings.labels).absolute()))
    about = {"created": datetime.now(UTC).isoformat(timespec="seconds"), **surroundings(settings.device)}
    return RunFolder.create(path, settings, inputs.task, about, inputs.backbone)


def resume_run(
    folder: RunFolder, observer: Observer | None = None, recompute: bool = False, device: str | None = None
) -> list[Round]:
    """Compute the missing rounds, then export the model; a finished run is left as it is.

    A new run takes this path too, so that a run that was killed has the same results as one that was not.

    Args:
        folder: The run, from `begin` or `RunFolder.open`.
        observer: Receives progress; by default it is logged.
        recompute: Compute all rounds again; each must be equal to its record.
        device: Another device than that of the settings.

    Returns:
        All rounds.

    Raises:
        UserError: If an `ActiveLearner` saved the folder.
        RunError: If a file is damaged, the folder is in use, or a round differs from its record.
    """
    observer = observer or LoggingObserver()
    if "key" in folder.about():
        raise UserError(
            f"{folder.path} was saved by an ActiveLearner, which is taught its labels; go on with "
            f"ActiveLearner.load('{folder.path}')."
        )
    preload_torch()
    with folder.locked():
        settings, task = on_device(folder.settings(), device), folder.task()
        schedule = make_schedule(settings.schedule)
        should_stop = stopping(settings, task)
        state, history = restore(folder, recompute)
        tracking = tracked(folder, settings, observer)
        tracking(history)
        ended = is_finished(settings.rules.rounds, schedule, history, should_stop) and folder.model.is_dir()
        if ended and not recompute and (state is None or state.round == len(history)):
            return history
        if not is_finished(settings.rules.rounds, schedule, history, should_stop):
            here = surroundings(settings.device)
            record_environment(folder.path, folder.about(), here, len(history), observer.message)
        annotator = None
        if settings.labels is not None:
            annotator = LabelsFile(Path(settings.labels), folder.path / "to_label.csv", task.classes, observer)
            task = with_validation(task, annotator, folder.path / "validation.json")
        signals = watched(settings, schedule)
        model = build_model(settings, task, signals, observer, folder.backbone)
        experiment = build_experiment(settings, task, model, signals, annotator)
        if may_be_used_up(settings.rules, task):
            experiment = replace(experiment, tests_every_round=True)  # any round may be the last
        if state is not None:
            state = replace(state, weights=model.place(state.weights), moments=model.place(state.moments))
            model.load(state.weights or model.pretrained)
        before, known = state, history[: state.round] if state else []
        with BackgroundWriter() as writer:
            for state, fact in active_learning(experiment, schedule, before, known, should_stop, observer):
                is_new = fact.round > len(history)
                if is_new:
                    history.append(fact)
                else:
                    same_facts(history[fact.round - 1], fact)
                writer.submit(partial(record, folder, checkpoint.Contents.of(state, fact), fact if is_new else None))
                done = history[: fact.round]
                observer.round_done(done)
                tracking(done)
        export(folder, model, task, settings, history[-1])
    return history


def on_device(settings: Settings, device: str | None) -> Settings:
    """What a run was asked for, to be computed elsewhere; None: where it was."""
    return settings if device is None else replace(settings, device=device)


def record(folder: RunFolder, state: checkpoint.Contents, fact: Round | None) -> None:
    """The state first: it has the fact, too."""
    checkpoint.write(folder.checkpoint, state)
    if fact is not None:
        folder.append(fact)


def tracked(folder: RunFolder, settings: Settings, observer: Observer) -> Callable[[Sequence[Round]], None]:
    """Who is told of all rounds so far, after each; the run's id is what its run.json says, which never changes."""
    spec = settings.tracker
    if spec is None:
        return lambda _history: None
    about = folder.about()
    id = hashlib.sha256(strict_json(about).encode()).hexdigest()[:32]
    return Tracking(lambda: TRACKERS.make(spec), id, folder.path.resolve().name, about, observer.message).offer


def stopping(settings: Settings, task: Task) -> StopCriterion:
    """Whether no text is left; or more labels would hardly help, where a run may end for that."""

    def should_stop(history: Sequence[Round]) -> bool:
        if used_up(history, settings.rules.late_class):
            return True
        left = texts_left(history, len(task.train), settings.rules.validation == "share")
        return settings.stop == "auto" and advise(history, len(task.classes), left).stop

    return should_stop


def may_be_used_up(rules: Rules, task: Task) -> bool:
    """Whether all texts are labelled before the last round, or in it."""
    return rules.initial + (rules.rounds - 1) * rules.batch >= len(task.train)


def export(folder: RunFolder, model: TransformerModel, task: Task, settings: Settings, last: Round) -> None:
    """Writes the model, and clears away what exports that were killed left behind."""
    from safetensors import SafetensorError

    for left in folder.path.glob(f".{folder.model.name}.*"):
        shutil.rmtree(left, ignore_errors=True)
    try:
        export_model(model.classifier, model.encoder, task, settings, last, folder.model)
    except (OSError, SafetensorError) as error:
        raise RunError(
            f"The model {folder.model} could not be written ({error}); all recorded rounds are safe. "
            "Make room, then run `hybridal resume`."
        ) from error


def restore(folder: RunFolder, recompute: bool = False) -> tuple[State | None, list[Round]]:
    """The state to go on from, and all recorded rounds.

    A checkpoint is written before its round is recorded: where the process ended between the two, the fact is in
    the checkpoint and is recorded now.
    """
    history = folder.history()
    for number, recorded in enumerate(history, start=1):
        if recorded.round != number:
            raise RunError(
                f"Line {number} of {folder.rounds.path} is of round {recorded.round}: lines are missing or out of "
                "order; restore the file from a backup, or delete that line and all after it and run "
                "`hybridal resume --recompute`."
            )
    saved = None if recompute else checkpoint.load(folder.checkpoint)
    if saved is None:
        return None, history
    state, fact = saved
    if fact is not None and state.round == len(history) + 1:
        folder.append(fact)
        history.append(fact)
    if state.round > len(history):
        raise RunError(
            f"{folder.rounds.path} has {len(history)} rounds, but the checkpoint is of round {state.round}; "
            "restore the file, or run `hybridal resume --recompute`."
        )
    return state, history


def same_facts(recorded: Round, computed: Round) -> None:
    """A round that is computed again must come out as recorded; its seconds apart, and why its schedule chose it."""
    if replace(recorded, seconds={}, reason="") != replace(computed, seconds={}, reason=""):
        raise RunError(
            f"Round {recorded.round} comes out differently from what is recorded: the versions, the machine or "
            "the labels have changed since; the recorded rounds are kept as they are. Go on where they were computed, "
            "or begin anew."
        )


def with_validation(task: Task, annotator: LabelsFile, kept: Path) -> Task:
    """Asks for the labels of validation texts that have none: without them nothing can be measured.

    They are asked for once and `kept`: a run that goes on is measured as before, whatever became of the file.
    """
    split = task.validation
    rows = np.flatnonzero(split.labels == UNKNOWN).tolist()
    if not rows:
        return task
    try:
        answers = json.loads(kept.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        answers = annotator.label({split.ids[row]: split.texts[row] for row in rows})
        write_whole(kept, strict_json(answers, indent=2) + "\n")
    labels = split.labels.copy()
    for row in rows:
        labels[row] = task.class_index(answers[split.ids[row]])
    return replace(task, validation=replace(split, labels=labels))
