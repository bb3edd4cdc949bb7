"""Build the parts of a run from its settings."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridal import __version__
from hybridal.acquisition import ACQUISITIONS, check_objective
from hybridal.annotators import ANNOTATORS, Annotator, ModelAnnotator
from hybridal.annotators.callback import Callback
from hybridal.annotators.llm import LlmAnnotator
from hybridal.annotators.oracle import Oracle
from hybridal.annotators.team import OVERLAP, Team
from hybridal.backbones import Backbone, candidate_names, load_backbone
from hybridal.backbones.auto_candidates import is_auto
from hybridal.core.observer import Observer
from hybridal.core.outputs import UNKNOWN
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.loop.loop import Experiment
from hybridal.models.model_protocol import Model
from hybridal.registry import hint_or_list
from hybridal.runs.settings import Settings
from hybridal.schedules import Schedule
from hybridal.signals import SIGNALS, Signal
from hybridal.tasks import Task, load_task

if TYPE_CHECKING:
    from hybridal.models.device import Device
    from hybridal.models.encoder_candidates import EncoderCandidates
    from hybridal.models.transformer import TransformerModel

Notify = Callable[[str], None]
NO_PEOPLE = Callback(lambda _texts: {})


def silent(_message: str) -> None:
    """Ignore a message."""


def find_task(settings: Settings, notify: Notify = silent) -> Task:
    """Load the task of the settings.

    `load_task` draws validation texts of a file that has none. A protocol that validates on a share of the labels puts
    them back, behind the other texts. They are drawn all the same: random choices depend on the order of the rows, so
    that runs of the same seed would differ from those recorded so far.
    """
    rules, source = settings.rules, settings.source
    split_seed = settings.seed if rules.split_seed is None else rules.split_seed
    task = load_task(source.task, **source.options, split_seed=split_seed, notify=notify)
    return task if rules.validation == "fixed" else task.merged()


def watched(settings: Settings, *schedules: Schedule) -> tuple[Signal, ...]:
    """Return the signals of the settings and of the schedules, each once."""
    requested = [SIGNALS.make(spec) for spec in settings.signals]
    by_name = {signal.name: signal for signal in (*requested, *(s for each in schedules for s in each.watches))}
    return tuple(by_name.values())


def check_signals(signals: Iterable[Signal], rules: Rules, task: Task, validation_texts: int) -> None:
    """Refuse signals that could not compare two rounds, before any text is labelled.

    Args:
        signals: The signals of the run.
        rules: The protocol. It may validate on a share of the labels in addition to the task's validation texts.
        task: Named in the error.
        validation_texts: How many validation texts of the task have labels, or will get some.

    Raises:
        UserError: If a signal needs validation texts and there are none, or needs the same ones in every round.
    """
    for signal in signals:
        if signal.needs_validation and not validation_texts and rules.validation != "share":
            raise UserError(
                f"The signal '{signal.name}' is measured on validation texts, and task '{task.name}' has none with "
                "labels; give it some, or watch alpha."
            )
        if rules.validation == "share" and signal.same_validation:
            raise UserError(
                f"The signal '{signal.name}' compares the same validation texts in all rounds, and a share of the "
                "labels grows; watch another, or set `validation=fixed` and give validation texts.",
                field="protocol.validation",
            )


def device_of(device: str, rules: Rules) -> Device:
    """The device that is asked for, with the precision of the rules."""
    from hybridal.models.device import choose_device

    return choose_device(device, rules.precision, plain=rules.arithmetic == "plain")


def build_model(
    settings: Settings,
    task: Task,
    signals: tuple[Signal, ...],
    observer: Observer | None = None,
    backbone: Backbone | None = None,
) -> TransformerModel:
    """Build the model of one encoder and tokenise the texts; load the backbone of the settings if none is given."""
    from hybridal.models.transformer import TransformerModel

    rules = settings.rules
    observer = observer or Observer()
    backbone = backbone or load_backbone(settings.backbone, task, observer.message)
    features = any(signal.needs_features for signal in signals)
    return TransformerModel(task, backbone, rules, settings.seed, device_of(settings.device, rules), features, observer)


def build_loop_model(
    settings: Settings,
    task: Task,
    signals: tuple[Signal, ...],
    observer: Observer | None = None,
    backbone: Backbone | None = None,
) -> TransformerModel | EncoderCandidates:
    """As `build_model`; with `backbone: auto`, a model that chooses among the candidates."""
    from hybridal.models.encoder_candidates import EncoderCandidates

    if not is_auto(settings.backbone):
        return build_model(settings, task, signals, observer, backbone)
    observer = observer or Observer()
    loaded = {name: load_backbone(name, task, observer.message) for name in candidate_names(settings.backbone)}

    def build(name: str, observer: Observer) -> TransformerModel:
        return build_model(settings, task, signals, observer, loaded[name])

    return EncoderCandidates([*loaded], build, observer)


def build_team(
    settings: Settings,
    task: Task,
    people: Annotator | None = None,
    folder: Path | None = None,
    notify: Notify | None = None,
) -> Annotator | Team:
    """Return who labels.

    Args:
        settings: Name the model that labels, if there is one.
        task: Its labels are those of people.
        people: Give the labels that the task lacks.
        folder: Where a model keeps its answers.
        notify: Receives messages of a model.
    """
    if settings.annotator is None:
        return Oracle(task, people)
    model = make_model_annotator(settings)
    if isinstance(model, ModelAnnotator):
        model.begin(task, folder, notify)
    none_known = not (task.train.labels != UNKNOWN).any()
    people = None if people is None and none_known else Oracle(task, people or NO_PEOPLE)
    return Team(model, people, OVERLAP if settings.overlap is None else settings.overlap)


def make_model_annotator(settings: Settings) -> Annotator:
    """Create the annotator that the settings name."""
    spec = settings.annotator or ""
    if spec != LlmAnnotator.name:
        return ANNOTATORS.make(spec)
    known = signature(LlmAnnotator).parameters
    for name in settings.llm:
        if name not in known:
            raise UserError(f"'{name}' is not a setting of `llm`; {hint_or_list(str(name), [*known])}", field="llm")
    try:
        return LlmAnnotator(**{"model": "", **settings.llm})
    except UserError as error:
        option = f"llm_{error.field}" if error.field else None
        raise UserError(str(error).replace("LlmAnnotator: `", "`llm_"), field=option) from error


def build_experiment(
    settings: Settings,
    task: Task,
    model: Model,
    signals: tuple[Signal, ...],
    annotator: Annotator | Team | None = None,
) -> Experiment:
    """Combine the parts into an experiment; without an `annotator`, the task's labels are given."""
    acquisition = ACQUISITIONS.make(settings.acquisition_spec)
    check_objective(acquisition, task.multi_label)
    every = settings.test_every_round or settings.stop == "auto"  # any round may be the last
    return Experiment(
        task, model, settings.rules, settings.seed, acquisition, signals, annotator or Oracle(task), every
    )


def surroundings(device: str, rules: Rules) -> dict[str, Any]:
    """Return the versions and the hardware, for `run.json`; the device with its precision where that is a choice."""
    names = ("torch", "transformers", "tokenizers", "numpy", "scikit-learn")
    return {
        "versions": {"hybridal": __version__, "python": platform.python_version()} | {n: version(n) for n in names},
        "hardware": {
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "device": device_of(device, rules).description,
        },
    }
