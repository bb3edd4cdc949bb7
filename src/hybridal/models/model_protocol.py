"""What the loop needs of a model: anything that can be trained by a plan and asked can take part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from hybridal.acquisition import Candidates
from hybridal.core.facts import Cost
from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.core.pool import Pool
from hybridal.signals import ModelView
from hybridal.updates import Plan, Weights


@dataclass(frozen=True)
class Fit:
    """What a round's training gave: θ_t, its cost, the epoch that was kept and the pass over validation at it."""

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
        """The weights before anything was learnt."""

    def describe(self, rows: Ints) -> Floats:
        """What is known of texts of the pool before anything is learnt, as vectors."""

    def describe_classes(self) -> Floats | None:
        """The names of the classes as such vectors; None where they say nothing."""

    def start(self, pool: Pool, weights: Weights | None = None) -> Weights:
        """The weights that a training on this pool starts from: θ₀, or those given, with a head for these labels."""

    def load(self, weights: Weights) -> None:
        """Answers about these weights from now on."""

    def place(self, weights: Weights | None) -> Weights | None:
        """Weights that came from a file, brought to where this model computes."""

    def fit(self, plan: Plan, pool: Pool, round: int) -> Fit: ...

    @property
    def validation_labels(self) -> Ints: ...

    def look(self, validation: Outputs | None, pool: Pool) -> ModelView:
        """What signals may look at."""

    def candidates(self, rows: Ints, pool: Pool, round: int, temperature: float) -> TimedCandidates:
        """What acquisition may look at."""

    def cross_fitted(self, pool: Pool) -> tuple[Floats, Ints] | None:
        """What cheap models that have not seen a label say of it, and the labels; None where there is no such model."""

    def test(self) -> tuple[Outputs, Ints] | None:
        """A pass over the test split and its labels, where it has any."""
