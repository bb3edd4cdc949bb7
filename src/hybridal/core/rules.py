"""The protocol of an experiment (pools, batches, training): four presets, in which any field can be overridden."""

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


def parse_thresholds(spec: str) -> tuple[str, float]:
    """Return what decision thresholds are chosen for, and the cost of a missed label in wrong ones.

    Args:
        spec: `macro_f1`, `micro_f1`, `half`, or `cost:R`.

    Raises:
        UserError: The spec is none of these.

    Example:
        >>> parse_thresholds("macro_f1"), parse_thresholds("cost:4")
        (('macro_f1', 1.0), ('cost', 4.0))
    """
    name, _, ratio = spec.partition(":")
    if spec in ("macro_f1", "micro_f1", "half"):
        return spec, 1.0
    cost = 0.0
    with suppress(ValueError):
        cost = float(ratio)
    _require(
        name == "cost" and 0 < cost < math.inf,
        "thresholds",
        f"must be macro_f1, micro_f1, half, or cost:R with a positive R, not '{spec}'",
    )
    return name, cost


@dataclass(frozen=True)
class Rules:
    """A protocol: the numbers and choices that stay fixed during a run. The defaults are those of the paper's text.

    Attributes:
        name: The preset that it is based on.
        initial: How many texts are labelled before the first round.
        initial_draw: How they are drawn: equally many of each class, by the share of each class, spread over all
            texts by their embeddings, or at random.
        rounds: How many rounds there are.
        batch: How many texts are labelled per round.
        candidates: The batch is chosen from this many random unlabelled texts; None takes all.
        max_length: How many tokens of a text are read.
        pooling: The input of the head: the mean of all tokens, the first token, or as the encoder was trained (auto).
        head: How the head starts: at random, or as a probe, a logistic regression on the encoder's features.
        probe_until: With fewer labels than this, the probe is the model and the encoder is not trained.
        use_class_descriptions: Use class names and descriptions as training examples, if every name has a letter.
        learning_rate: The learning rate of AdamW, the same in every layer.
        warmup: The share of a training's steps in which the learning rate rises.
        decay: Whether the learning rate falls to 0 after that.
        weight_decay: The weight decay of AdamW.
        train_batch: How many texts a training step takes.
        max_epochs: The maximum number of epochs of a training.
        min_steps: The minimum number of steps of a training, unless its update has its own number of epochs.
        min_finetune_steps: The minimum number of steps of a training whose update has one, such as `finetune:3`.
        stop_after: Stop after this many validations without a lower loss; None trains to the end.
        min_delta: By how much the loss must be lower to count.
        validations_per_epoch: How often an epoch validates.
        keep_start: Whether the starting weights may be kept as the best ones.
        average: Keep the mean of the weights over the second half of a training without early stopping.
        dropout: On, off, or only while fine-tuning, as in the published code.
        moments: Whether FINETUNE and NEWONLY start with a fresh optimiser each round or carry its moments over.
        validation_loss: The mean over examples, or over batches as in the published code.
        newonly_round_1: Whether NEWONLY trains on the initial labels, or skips round 1 as in the published code.
        precision: 32 bits throughout, or what the device computes fastest (auto).
        arithmetic: `fast`, or `plain` to switch fast paths off; they differ by rounding and by dropout masks.
        train_layers: How many of the top layers are trained; None trains all, and the embeddings.
        temperature: Fitted to validation alone, or shrunk towards a prior.
        calibrate: Rank candidates by temperature-scaled probabilities.
        split_seed: The seed of the splits; None takes the run's seed, as in the published code.
        validation: The task's own validation texts (fixed), a random share of all labels, or none.
        validation_share: That share.
        validation_size: The maximum number of validation texts, drawn by the run's seed, stratified if fixed.
        late_class: In a simulation, the round from which texts of the last class can be chosen.
        thresholds: With several labels per text, what decision thresholds are best for: macro_f1, micro_f1, half (0.5),
            or cost:R, where a missed label costs R times as much as a wrong one.

    Example:
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
    thresholds: str = "macro_f1"

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
        parse_thresholds(self.thresholds)
        for name in ("weight_decay", "min_delta", "warmup", "min_steps", "min_finetune_steps", "probe_until"):
            _require(getattr(self, name) >= 0, name, "must not be negative")

    def validation_rows(self, labels: int) -> int:
        """Return how many of the labels are held for validation, not counting the task's own validation texts.

        Args:
            labels: How many labels there are.

        Returns:
            The number that is measured on and not learnt.

        Example:
            >>> protocol("paper").validation_rows(200), protocol("paper", {"validation": "share"}).validation_rows(205)
            (0, 20)
        """
        wanted = int(self.validation_share * labels) if self.validation == "share" else 0
        return wanted if self.validation_size is None else min(wanted, self.validation_size)

    def epochs(self, examples: int, batch: int | None = None, asked: int | None = None) -> int:
        """Return the number of epochs of a training without early stopping.

        Args:
            examples: How many examples it trains on.
            batch: The batch size, if not `train_batch`.
            asked: The update's own number of epochs, if it has one.

        Returns:
            The number of epochs, large enough for the minimum number of steps.

        Example:
            >>> rules = protocol("paper", {"max_epochs": 4, "min_steps": 77, "min_finetune_steps": 7})
            >>> rules.epochs(40), rules.epochs(40, asked=2)  # three steps an epoch
            (26, 3)
        """
        if not examples:
            return 0
        min_steps = self.min_finetune_steps if asked else self.min_steps
        return max(asked or self.max_epochs, math.ceil(min_steps / math.ceil(examples / (batch or self.train_batch))))

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON.

        Returns:
            All fields.
        """
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
    # The default: mean pooling under a head that starts as a probe, few labels held for validation, and no more steps
    # than pay off (docs/findings.md).
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
    # Takes about two minutes on two cores: short texts, a higher learning rate for fewer epochs.
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
    """Return a preset with some of its fields replaced.

    Args:
        name: The preset: paper, reference, best or quick.
        overrides: Values of other fields of `Rules`, by name.

    Raises:
        UserError: There is no such preset or field, or a value is not valid.
    """
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
        # YAML 1.1 reads 2e-5 as a string, since it has no dot.
        if kinds[field] == "float" and isinstance(value, str):
            with suppress(ValueError):
                given[field] = float(value)
    return replace(PRESETS[name], **given)
