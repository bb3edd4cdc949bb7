"""The only door to `hybridal.models.gpu`: recorded CUDA graphs for a classifier.

No other module imports that package, so that runs on a processor never load it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from hybridal.core.outputs import Ints, Outputs
from hybridal.core.rules import Rules
from hybridal.models.token_arrays import Progress, Tokens

if TYPE_CHECKING:
    from hybridal.models.classifier import Classifier
    from hybridal.models.training.losses import Loss


class Graphs(Protocol):
    """Steps and forward passes of one classifier as recorded graphs."""

    def weights_changed(self) -> None:
        """Must be called after the classifier's weights were written from elsewhere."""

    def steps(self, rules: Rules, loss: Loss = ...) -> Any:
        """Optimiser steps (`training.optimiser_steps.Steps`); equal rules and losses get the same ones."""

    def predict(self, tokens: Tokens, rows: Ints, features: bool, progress: Progress, batch_invariant: bool) -> Outputs:
        """As `training.forward_passes.predict`."""

    def gradient_norm(self, tokens: Tokens, rows: Ints, labels: Ints, loss: Loss = ...) -> float:
        """As `training.forward_passes.gradient_norm`."""


def graphs_of(classifier: Classifier) -> Graphs:
    """Graphs for a classifier on a CUDA device; each is recorded when it is first used."""
    from hybridal.models.gpu.graphs import cuda_graphs

    return cuda_graphs(classifier)
