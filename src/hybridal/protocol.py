"""How an experiment is set up: pools, batches, training. Three presets, and any field can be overridden."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from hybridal.errors import UserError


def _require(holds: bool, name: str, rule: str) -> None:
    if not holds:
        raise UserError(f"Protocol: `{name}` {rule}.")


@dataclass(frozen=True)
class Protocol:
    """The fixed rules of a run; the defaults are those of the paper's text.

    `initial` labels start the run, `batch` are added a round, chosen among `candidates` random ones (None: all).
    `max_epochs` bound a round's training; it stops `stop_after` epochs without a validation loss lower by
    `min_delta` (None: never stops early and keeps the last epoch). `dropout` may be "on", "off", or "finetune": only
    while fine-tuning, as in the published code. `moments` says whether fine-tuning gets a fresh optimiser each
    round or carries its moments over. `validation_loss` is the mean over examples, or over batches as published.
    `newonly_round_1` trains on the initial pool, or "skip"s as published. `calibrate` ranks candidates by
    temperature-scaled probabilities. `split_seed` None draws the splits by the run's seed, as published.

    >>> protocol("paper").initial, protocol("reference").dropout, protocol("paper", {"rounds": 3}).rounds
    (200, 'finetune', 3)
    """

    name: str = "paper"
    initial: int = 200
    initial_draw: Literal["equal", "proportional"] = "equal"
    rounds: int = 25
    batch: int = 32
    candidates: int | None = 1000
    max_length: int = 128
    learning_rate: float = 2e-5
    weight_decay: float = 1e-3
    train_batch: int = 16
    max_epochs: int = 10
    stop_after: int | None = 2
    min_delta: float = 1e-4
    dropout: Literal["on", "off", "finetune"] = "on"
    moments: Literal["fresh", "carry"] = "fresh"
    validation_loss: Literal["examples", "batches"] = "examples"
    newonly_round_1: Literal["train", "skip"] = "train"
    precision: Literal["auto", "fp32"] = "auto"
    calibrate: bool = False
    split_seed: int | None = 42

    def __post_init__(self) -> None:
        for name in ("initial", "rounds", "batch", "max_length", "train_batch", "max_epochs"):
            _require(getattr(self, name) >= 1, name, "must be at least 1")
        _require(self.candidates is None or self.candidates >= self.batch, "candidates", "must be at least `batch`")
        _require(self.stop_after is None or self.stop_after >= 1, "stop_after", "must be at least 1, or null for never")
        _require(self.learning_rate > 0, "learning_rate", "must be positive")
        for name, choices in _CHOICES.items():
            _require(getattr(self, name) in choices, name, f"must be one of {', '.join(choices)}")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


_CHOICES = {
    "initial_draw": ("equal", "proportional"),
    "dropout": ("on", "off", "finetune"),
    "moments": ("fresh", "carry"),
    "validation_loss": ("examples", "batches"),
    "newonly_round_1": ("train", "skip"),
    "precision": ("auto", "fp32"),
}

PRESETS: Mapping[str, Protocol] = {
    "paper": Protocol(),
    "reference": Protocol(
        name="reference",
        dropout="finetune",
        moments="carry",
        validation_loss="batches",
        newonly_round_1="skip",
        precision="fp32",
        split_seed=None,
    ),
    # Ends in about two minutes on two cores: short texts, a higher rate for fewer epochs.
    "quick": Protocol(
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


def protocol(name: str = "paper", overrides: Mapping[str, Any] | None = None) -> Protocol:
    """A preset with some of its fields replaced."""
    if name not in PRESETS:
        raise UserError(f"There is no protocol named '{name}'; there are {', '.join(PRESETS)}.")
    known = {field.name for field in fields(Protocol)} - {"name"}
    for field in overrides or {}:
        _require(field in known, field, f"is not a field of a protocol; there are {', '.join(sorted(known))}")
    return replace(PRESETS[name], **(overrides or {}))
