"""What the loop requires of a model: it trains by a plan and answers questions about its texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from hybridal.acquisition import Candidates
from hybridal.core.encoder_choice import EncoderChoice
from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.core.pool import Pool
from hybridal.core.rounds import Cost
from hybridal.signals import ModelView
from hybridal.updates import Plan, Weights


@dataclass(frozen=True)
class Fit:
    """The result of a round's training: θ_t, its cost, the epoch that was kept and its pass over validation."""

    weights: Weights
    cost: Cost
    kept_epoch: float
    validation: Outputs | None
    moments: Weights | None
    seconds: Mapping[str, float]


class TimedCandidates(Candidates, Protocol):
    """Candidates that remember the model's passes over them, and how long these took."""

    @property
    def seconds(self) -> float: ...

    def known(self, temperature: float) -> Floats | None:
        """Probabilities at this temperature if a pass over the texts has been made; None if it has not."""


class Model(Protocol):
    """Trains, then answers about the weights that it has just trained."""

    @property
    def pretrained(self) -> Weights:
        """θ₀: the pretrained weights and a random head."""

    def pretrained_features(self, rows: Ints) -> Floats:
        """Features of texts of the pool from the pretrained encoder, (N, width)."""

    def class_features(self) -> Floats | None:
        """Features of the classes' descriptions, (classes, width); None if a class has none."""

    def start(self, pool: Pool, weights: Weights | None = None) -> Weights:
        """The start weights of a training on this pool: θ₀ or `weights`, with a head fitted to the labels."""

    def load(self, weights: Weights) -> None:
        """Use these weights from now on."""

    def to_device(self, weights: Weights | None) -> Weights | None:
        """Move weights that were read from a file to the model's device."""

    def fit(self, plan: Plan, pool: Pool, round: int) -> Fit: ...

    @property
    def validation_labels(self) -> Ints: ...

    def view(self, validation: Outputs | None, pool: Pool) -> ModelView:
        """What signals may see."""

    def candidates(self, rows: Ints, pool: Pool, round: int, temperature: float) -> TimedCandidates:
        """What acquisition functions may see."""

    def cross_fitted(self, pool: Pool) -> tuple[Floats, Ints] | None:
        """Out-of-fold logits by probes of the texts that people labelled, and their labels; None without a probe."""

    def test(self) -> tuple[Outputs, Ints] | None:
        """A pass over the test split and its labels; None if it has none."""


@runtime_checkable
class EncoderChooser(Protocol):
    """A model with several pretrained encoders, of which it uses one at a time."""

    def choose_encoder(self, pool: Pool, now: EncoderChoice | None) -> EncoderChoice:
        """The encoder for these labels; `now` is the choice of the last round, None in the first."""

    def comparing_seconds(self) -> float:
        """Wall-clock seconds of the comparisons since the last call."""

    def use_encoder(self, choice: EncoderChoice | None) -> None:
        """Use the chosen encoder from now on; None is the one that a run begins with."""
