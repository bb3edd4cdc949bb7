"""How an experiment is set up: pools, batches, training. Four presets, and any field can be overridden."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from hybridal.core.checked import type_errors
from hybridal.errors import UserError
from hybridal.registry import hint_or_list, unknown_name


def _require(holds: bool, name: str, rule: str) -> None:
    if not holds:
        raise UserError(f"Protocol: `{name}` {rule}.", field=f"protocol.{name}")


@dataclass(frozen=True)
class Rules:
    """The fixed rules of a run; the defaults are those of the paper's text.

    Attributes:
        name: The preset that it began as.
        initial: Labels that the run starts from.
        initial_draw: How they are drawn: of each class alike, by its share, spread over all texts, or at random.
        rounds: How many rounds there are.
        batch: Labels that are added a round.
        candidates: Random unlabelled texts that the batch is chosen from; None takes all.
        max_length: Tokens of a text that are read.
        pooling: What the head reads: the mean of all tokens, the first one, or as the encoder was trained (auto).
        head: Starts at random, or as a probe: a logistic regression on the pretrained encoder's features.
        probe_until: With fewer labels than this the probe is the model.
        use_class_descriptions: Use class names and descriptions as training examples, if every name has a letter.
        learning_rate: Of AdamW, the same in every layer.
        warmup: Share of a training's steps in which the rate rises.
        decay: Lets the rate fall to 0 after that.
        weight_decay: Of AdamW.
        train_batch: Texts of a training step.
        max_epochs: At most so many epochs a training.
        min_steps: At least so many steps a training, unless its update brings its own number of epochs.
        min_finetune_steps: At least so many steps a training whose update does, as that of `finetune:3`.
        stop_after: Epochs without a lower validation loss that end it; None: nothing does, and the last is kept.
        min_delta: By how much the loss must be lower to count.
        validations_per_epoch: Looks at validation in an epoch.
        keep_start: Lets the weights that training started from win.
        average: Keeps the mean of the weights over the second half of a training that nothing stops.
        dropout: On, off, or only while fine-tuning, as in the published code.
        moments: Whether FINETUNE and NEWONLY get a fresh optimiser each round or carry its moments over.
        validation_loss: The mean over examples, or over batches as published.
        newonly_round_1: Whether NEWONLY trains on the initial labels, or skips round 1 as published.
        precision: 32 bits throughout, or what the device does best (auto).
        arithmetic: Plain does without fast arithmetic: the same up to rounding and to which dropout masks are drawn.
        train_layers: Trains only so many of the backbone's layers, the top ones; None: all, and its embeddings.
        temperature: Fitted to validation alone, or shrunk towards what was known before.
        calibrate: Ranks candidates by temperature-scaled probabilities.
        split_seed: Draws the splits; None draws them by the run's seed, as published.
        validation: The task's own texts (fixed), a share of all labels, drawn at random as they come, or none.
        validation_share: That share.
        validation_size: At most so many validation texts, drawn by the run's seed, stratified if they are fixed.
        late_class: The round from which texts of the last class can be chosen, in a simulation.

    >>> protocol("paper").initial, protocol("reference").dropout, protocol("paper", {"rounds": 3}).rounds
    (200, 'finetune', 3)
    """

    name: str = "paper"
    initial: int = 200
    initial_draw: Literal["equal", "proportional", "spread", "random"] = "equal"
    rounds: int = 25
    batch: int = 32
    candidates: int | None = 1000
    max_length: int = 128
    pooling: Literal["auto", "mean", "first"] = "first"
    head: Literal["random", "probe"] = "random"
    probe_until: int = 0
    use_class_descriptions: bool = False
    learning_rate: float = 2e-5
    warmup: float = 0.0
    decay: bool = False
    weight_decay: float = 1e-3
    train_batch: int = 16
    max_epochs: int = 10
    min_steps: int = 0
    min_finetune_steps: int = 0
    stop_after: int | None = 2
    min_delta: float = 1e-4
    validations_per_epoch: int = 1
    keep_start: bool = False
    average: bool = False
    dropout: Literal["on", "off", "finetune"] = "on"
    moments: Literal["fresh", "carry"] = "fresh"
    validation_loss: Literal["examples", "batches"] = "examples"
    newonly_round_1: Literal["train", "skip"] = "train"
    precision: Literal["auto", "fp32"] = "auto"
    arithmetic: Literal["fast", "plain"] = "fast"
    train_layers: int | None = None
    temperature: Literal["fitted", "shrunk"] = "fitted"
    calibrate: bool = False
    split_seed: int | None = 42
    validation: Literal["fixed", "share", "none"] = "fixed"
    validation_share: float = 0.1
    validation_size: int | None = None
    late_class: int | None = None

    def __post_init__(self) -> None:
        for name, wrong in type_errors(self):
            _require(False, name, wrong)
        for name in ("initial", "rounds", "batch", "max_length", "train_batch", "max_epochs", "validations_per_epoch"):
            _require(getattr(self, name) >= 1, name, "must be at least 1")
        _require(self.candidates is None or self.candidates >= self.batch, "candidates", "must be at least `batch`")
        _require(self.stop_after is None or self.stop_after >= 1, "stop_after", "must be at least 1, or null for never")
        _require(self.late_class is None or self.late_class >= 1, "late_class", "must be at least 1, or null")
        _require(self.train_layers is None or self.train_layers >= 0, "train_layers", "must not be negative")
        _require(self.validation_size is None or self.validation_size >= 1, "validation_size", "must be at least 1")
        _require(self.learning_rate > 0, "learning_rate", "must be positive")
        _require(0 < self.validation_share < 1, "validation_share", "is a share of the labels, between 0 and 1")
        _require(self.warmup <= 1, "warmup", "is a share of the steps, at most 1")
        for name in ("weight_decay", "min_delta", "warmup", "min_steps", "min_finetune_steps", "probe_until"):
            _require(getattr(self, name) >= 0, name, "must not be negative")

    def validation_rows(self, labels: int) -> int:
        """How many of so many labels are measured on and not learnt, beside those of the task's own validation texts.

        >>> protocol("paper").validation_rows(200), protocol("paper", {"validation": "share"}).validation_rows(205)
        (0, 20)
        """
        wanted = int(self.validation_share * labels) if self.validation == "share" else 0
        return wanted if self.validation_size is None else min(wanted, self.validation_size)

    def epochs(self, examples: int, batch: int | None = None, asked: int | None = None) -> int:
        """How often a training goes over its examples if nothing stops it; `asked` is what its update brings along.

        >>> rules = protocol("paper", {"max_epochs": 4, "min_steps": 77, "min_finetune_steps": 7})
        >>> rules.epochs(40), rules.epochs(40, asked=2)  # three steps an epoch
        (26, 3)
        """
        if not examples:
            return 0
        least = self.min_finetune_steps if asked else self.min_steps
        return max(asked or self.max_epochs, math.ceil(least / math.ceil(examples / (batch or self.train_batch))))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


PRESETS: Mapping[str, Rules] = {
    "paper": Rules(),
    "reference": Rules(
        name="reference",
        dropout="finetune",
        moments="carry",
        validation_loss="batches",
        newonly_round_1="skip",
        precision="fp32",
        split_seed=None,
    ),
    # What people get who ask for nothing: the mean of the encoder under a head that starts as a probe, few labels to
    # measure on, and no more steps than pay (docs/findings.md).
    "best": Rules(
        name="best",
        initial=50,
        initial_draw="spread",
        pooling="auto",
        head="probe",
        probe_until=30,
        use_class_descriptions=True,
        learning_rate=5e-5,
        warmup=0.1,
        max_epochs=10,
        min_steps=160,
        min_finetune_steps=96,
        stop_after=None,
        average=True,
        validation="share",
        validation_size=50,
        temperature="shrunk",
    ),
    # Ends in about two minutes on two cores: short texts, a higher rate for fewer epochs.
    "quick": Rules(
        name="quick",
        initial=48,
        rounds=8,
        batch=16,
        candidates=192,
        max_length=40,
        learning_rate=1e-4,
        max_epochs=6,
    ),
}


def protocol(name: str = "best", overrides: Mapping[str, Any] | None = None) -> Rules:
    """A preset with some of its fields replaced."""
    if name not in PRESETS:
        raise unknown_name("protocol", name, [*PRESETS])
    kinds = {field.name: field.type for field in fields(Rules) if field.name != "name"}
    given = dict(overrides or {})
    for field, value in given.items():
        if field not in kinds:
            raise UserError(
                f"Protocol: `{field}` is not a field of a protocol; {hint_or_list(field, sorted(kinds))}",
                field=f"protocol.{field}",
            )
        # YAML 1.1 reads 2e-5 as text, since it has no dot; people mean a number.
        if kinds[field] == "float" and isinstance(value, str):
            with suppress(ValueError):
                given[field] = float(value)
    return replace(PRESETS[name], **given)
