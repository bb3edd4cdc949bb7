"""Start or resume a run, up to its exported model."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridal.annotators.labels_file import LabelsFile
from hybridal.annotators.llm import LlmAnnotator
from hybridal.annotators.team import Team
from hybridal.core.observer import LoggingObserver, Observer
from hybridal.core.outputs import UNKNOWN
from hybridal.core.pool import Pool
from hybridal.core.rounds import Round
from hybridal.core.rules import Rules
from hybridal.errors import RunError, UserError
from hybridal.loop.loop import State, StopCriterion, active_learning, is_finished
from hybridal.measures.advice import advise, got_no_labels, texts_left, used_up
from hybridal.measures.model_errors import model_errors, pool_weights
from hybridal.measures.spending import LabellingModel, Prices, error_sentences, who_labels_next
from hybridal.runs import checkpoint
from hybridal.runs.assemble import build_experiment, build_loop_model, build_team, surroundings, watched
from hybridal.runs.background_writer import BackgroundWriter
from hybridal.runs.checks import check_start, preload_torch
from hybridal.runs.environments import record_environment
from hybridal.runs.export import export_model
from hybridal.runs.record import RunFolder
from hybridal.runs.settings import Settings
from hybridal.schedules import make_schedule
from hybridal.system.files import strict_json, write_whole
from hybridal.tasks.answers import Answer, Decisions
from hybridal.tasks.label_cells import CellReader
from hybridal.tasks.task import Task
from hybridal.trackers import TRACKERS, Tracking

if TYPE_CHECKING:
    from hybridal.models.transformer import TransformerModel


VALIDATION = "validation.json"
"""The labels that people gave to validation texts of a run."""


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
    settings = inputs.settings
    if settings.labels is not None:  # `resume` may be called from another working directory
        settings = replace(settings, labels=str(Path(settings.labels).absolute()))
    about = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **surroundings(settings.device, settings.rules),
    }
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
            here = surroundings(settings.device, settings.rules)
            record_environment(folder.path, folder.about(), here, len(history), observer.message)
        annotator = None
        if settings.labels is not None:
            cells = CellReader(task.classes, task.multi_label, settings.label_separator)
            annotator = LabelsFile(Path(settings.labels), folder.path / "to_label.csv", cells, observer)
            task = with_validation(task, annotator, folder.path / VALIDATION)
        signals = watched(settings, schedule)
        model = build_loop_model(settings, task, signals, observer, folder.backbone)
        team = build_team(settings, task, annotator, folder.path, observer.message)
        experiment = build_experiment(settings, task, model, signals, team)
        if may_be_used_up(settings.rules, task):
            experiment = replace(experiment, tests_every_round=True)  # any round may be the last
        if state is not None:
            state = replace(state, weights=model.to_device(state.weights), moments=model.to_device(state.moments))
            experiment.load(state)
        before, known = state, history[: state.round] if state else []
        with BackgroundWriter() as writer:
            for state, round_record in active_learning(experiment, schedule, before, known, should_stop, observer):
                is_new = round_record.round > len(history)
                if is_new:
                    history.append(round_record)
                else:
                    require_equal_records(history[round_record.round - 1], round_record)
                writer.submit(
                    partial(
                        record, folder, checkpoint.Contents.of(state, round_record), round_record if is_new else None
                    )
                )
                done = history[: round_record.round]
                observer.round_done(done)
                tracking(done)
        assert state is not None  # there was a last round
        export(folder, model.current, task, settings, history[-1], state.pool)
        if isinstance(team, Team):
            for sentence in _about_the_model(team, settings, task, state.pool, history):
                observer.message(sentence)
    return history


def _about_the_model(team: Team, settings: Settings, task: Task, pool: Pool, history: Sequence[Round]) -> Iterator[str]:
    """What a model cost, how good it is by the texts that people labelled too, and what more labels would bring."""
    if isinstance(team.model, LlmAnnotator):
        yield team.model.cost_sentence
    name = str(getattr(team.model, "model", None) or getattr(team.model, "name", "The model"))
    errors, weights = model_errors(*pool.compared(), task.objective), pool_weights(pool, task.objective)
    price = getattr(team.model, "label_price", None)
    if settings.label_price is None or price is None or weights is None:
        yield from error_sentences(name, errors, task.classes)
        return
    weight = float(weights[np.isin(pool.order, pool.by_model)].mean()) if len(pool.by_model) else 0.0
    left = texts_left(history, len(task.train), settings.rules.validation == "share")
    prices, model = Prices(settings.label_price, price), LabellingModel(name, errors, weight)
    yield from who_labels_next(history, task.classes, left, prices, model)


def on_device(settings: Settings, device: str | None) -> Settings:
    """Return the settings with another device, if one is given."""
    return settings if device is None else replace(settings, device=device)


def record(folder: RunFolder, state: checkpoint.Contents, round_record: Round | None) -> None:
    """Write the checkpoint before the record: it contains the record, too."""
    checkpoint.write(folder.checkpoint, state)
    if round_record is not None:
        folder.append(round_record)


def tracked(folder: RunFolder, settings: Settings, observer: Observer) -> Callable[[Sequence[Round]], None]:
    """Return a function that sends all rounds to the tracker; the run's id is the hash of its `run.json`."""
    spec = settings.tracker
    if spec is None:
        return lambda _history: None
    about = folder.about()
    id = hashlib.sha256(strict_json(about).encode()).hexdigest()[:32]
    return Tracking(lambda: TRACKERS.make(spec), id, folder.path.resolve().name, about, observer.message).offer


def stopping(settings: Settings, task: Task) -> StopCriterion:
    """Return the stopping criterion: no text is left or, with `stop` "auto", more labels would hardly help."""

    def should_stop(history: Sequence[Round]) -> bool:
        if used_up(history, settings.rules.late_class) or (settings.annotator and got_no_labels(history)):
            return True
        left = texts_left(history, len(task.train), settings.rules.validation == "share")
        return settings.stop == "auto" and advise(history, len(task.classes), left).stop

    return should_stop


def may_be_used_up(rules: Rules, task: Task) -> bool:
    """Return whether all texts may be labelled by the last round."""
    return rules.initial + (rules.rounds - 1) * rules.batch >= len(task.train)


def export(folder: RunFolder, model: TransformerModel, task: Task, settings: Settings, last: Round, pool: Pool) -> None:
    """Write the model, and remove leftovers of killed exports."""
    from safetensors import SafetensorError

    for left in folder.path.glob(f".{folder.model.name}.*"):
        shutil.rmtree(left, ignore_errors=True)
    try:
        evidence = model.random_labels(pool).evidence(model.classifier, last.temperature, last.thresholds)
        export_model(model.classifier, model.encoder, task, settings, last, folder.model, evidence)
    except (OSError, SafetensorError) as error:
        raise RunError(
            f"The model {folder.model} could not be written ({error}); all recorded rounds are safe. "
            "Make room, then run `hybridal resume`."
        ) from error


def restore(folder: RunFolder, recompute: bool = False) -> tuple[State | None, list[Round]]:
    """Return the last state and all recorded rounds.

    A checkpoint is written before its round is recorded. If the process was killed in between, take the record from the
    checkpoint now.

    Raises:
        RunError: If rounds are missing or a file is damaged.
    """
    history = folder.history()
    for number, recorded in enumerate(history, start=1):
        if recorded.round != number:
            raise RunError(
                f"Line {number} of {folder.rounds.path} is of round {recorded.round}: lines are missing or out of "
                "order; restore the file from a backup, or delete that line and all after it and run "
                "`hybridal resume --recompute`."
            )
    saved = None if recompute else checkpoint.load(folder.checkpoint, folder.task().label_sets)
    if saved is None:
        return None, history
    state, round_record = saved
    if round_record is not None and state.round == len(history) + 1:
        folder.append(round_record)
        history.append(round_record)
    if state.round > len(history):
        raise RunError(
            f"{folder.rounds.path} has {len(history)} rounds, but the checkpoint is of round {state.round}; "
            "restore the file, or run `hybridal resume --recompute`."
        )
    return state, history


def require_equal_records(recorded: Round, computed: Round) -> None:
    """Require that a recomputed round equals its record, except for timings and the schedule's reason."""
    if replace(recorded, seconds={}, reason="") != replace(computed, seconds={}, reason=""):
        raise RunError(
            f"Round {recorded.round} differs from its record: the versions, the machine or the labels have changed "
            "since; the records are kept. Resume on the machine where they were computed, or start a new run."
        )


def with_validation(task: Task, annotator: LabelsFile, kept: Path) -> Task:
    """Ask for labels of validation texts that have none, because the model is evaluated on them.

    They are stored in the file `kept`, so that a resumed run uses the same ones even if the labels file has changed.
    """
    split = task.validation
    rows = np.flatnonzero(split.labels == UNKNOWN).tolist()
    if not rows:
        return task
    try:
        answers = json.loads(kept.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        answers = annotator.label({split.ids[row]: split.texts[row] for row in rows})
        written = {id: _as_json(answer) for id, answer in answers.items()}
        write_whole(kept, strict_json(written, indent=2) + "\n")
    return _with_answers(task, answers)


def with_kept_validation(task: Task, folder: RunFolder) -> Task:
    """Return the task with the validation labels that people gave for a run, if it asked for any."""
    kept = folder.path / VALIDATION
    return _with_answers(task, json.loads(kept.read_text(encoding="utf-8"))) if kept.is_file() else task


def _with_answers(task: Task, answers: Mapping[str, Any]) -> Task:
    """Return the task with these labels of validation texts that have none."""
    split = task.validation
    rows = np.flatnonzero(split.labels == UNKNOWN).tolist()
    labels = split.labels.copy()
    for row in rows:
        answer = answers[split.ids[row]]
        labels[row] = task.label_number(Decisions.of(answer) if isinstance(answer, dict) else answer)
    return replace(task, validation=replace(split, labels=labels))


def _as_json(answer: Answer) -> str | list[str] | dict[str, bool]:
    if isinstance(answer, Decisions):
        return answer.by_class()
    return answer if isinstance(answer, str) else sorted(answer)
