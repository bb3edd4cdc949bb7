"""Build the experiment that settings describe."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from hybridal import __version__
from hybridal.acquisition import ACQUISITIONS
from hybridal.annotators import Annotator
from hybridal.annotators.oracle import Oracle
from hybridal.backbones import load_backbone
from hybridal.core.observer import Observer
from hybridal.core.rules import Rules
from hybridal.errors import UserError
from hybridal.loop.loop import Experiment
from hybridal.models.model_protocol import Model
from hybridal.runs.settings import Settings
from hybridal.schedules import Schedule
from hybridal.signals import SIGNALS, Signal
from hybridal.tasks import Task, load_task

if TYPE_CHECKING:
    from hybridal.models.transformer import TransformerModel

Notify = Callable[[str], None]


def silent(_message: str) -> None:
    """Says nothing."""


def find_task(settings: Settings, notify: Notify = silent) -> Task:
    """The task that was asked for; where a share of the labels is measured on, all its texts are to choose from."""
    rules, source = settings.rules, settings.source
    split_seed = settings.seed if rules.split_seed is None else rules.split_seed
    task = load_task(source.task, **source.options, split_seed=split_seed, notify=notify)
    return task if rules.validation == "fixed" else task.merged()


def watched(settings: Settings, *schedules: Schedule) -> tuple[Signal, ...]:
    """Every signal that somebody asked for, once."""
    asked = [SIGNALS.make(spec) for spec in settings.signals]
    by_name = {signal.name: signal for signal in (*asked, *(s for each in schedules for s in each.watches))}
    return tuple(by_name.values())


def check_signals(signals: Iterable[Signal], rules: Rules, task: Task, measured: int) -> None:
    """Refuses, before anybody labels, those that could not compare two rounds.

    So many validation texts of the task are `measured` on; a share of the labels is beside them where the rules say so.
    """
    for signal in signals:
        if signal.needs_validation and not measured and rules.validation != "share":
            raise UserError(
                f"The signal '{signal.name}' is measured on validation texts, and task '{task.name}' has none with "
                "labels; give it some, or watch alpha."
            )
        if rules.validation == "share" and signal.same_validation:
            raise UserError(
                f"The signal '{signal.name}' compares the same validation texts in all rounds, and a share of the "
                "labels grows; watch another, or say `validation=fixed` and give validation texts.",
                field="protocol.validation",
            )


def build_model(
    settings: Settings,
    task: Task,
    signals: tuple[Signal, ...],
    observer: Observer | None = None,
) -> TransformerModel:
    """Loads the backbone and tokenises the texts."""
    from hybridal.models.device import choose_device
    from hybridal.models.transformer import TransformerModel

    rules = settings.rules
    device = choose_device(settings.device, rules.precision, plain=rules.arithmetic == "plain")
    observer = observer or Observer()
    backbone = load_backbone(settings.backbone, task, observer.message)
    features = any(signal.needs_features for signal in signals)
    return TransformerModel(task, backbone, rules, settings.seed, device, features, observer)


def build_experiment(
    settings: Settings, task: Task, model: Model, signals: tuple[Signal, ...], annotator: Annotator | None = None
) -> Experiment:
    """Puts the parts together; the annotator is asked for what the task does not know."""
    acquisition = ACQUISITIONS.make(settings.acquisition_spec)
    oracle = Oracle(task, annotator)
    every = settings.test_every_round or settings.stop == "auto"  # any round may be the last
    return Experiment(task, model, settings.rules, settings.seed, acquisition, signals, oracle, every)


def surroundings(device: str) -> dict[str, Any]:
    """Versions and hardware, for the record."""
    from hybridal.models.device import choose_device

    names = ("torch", "transformers", "tokenizers", "numpy", "scikit-learn")
    return {
        "versions": {"hybridal": __version__, "python": platform.python_version()} | {n: version(n) for n in names},
        "hardware": {
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "device": choose_device(device).description,
        },
    }
