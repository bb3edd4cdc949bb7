"""Optimiser steps: forward, backward and AdamW, with a learning rate for each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from hybridal.core.outputs import Ints
from hybridal.core.rules import Rules
from hybridal.models.classifier import Classifier
from hybridal.models.torch_generators import seeded
from hybridal.models.training.adamw import PARTS, AdamW
from hybridal.models.training.examples import Examples
from hybridal.models.training.losses import CROSS_ENTROPY, Loss
from hybridal.updates import Weights


class Steps(Protocol):
    """Trains a classifier, several steps at a time."""

    def begin(self, moments: Weights | None) -> None:
        """Reset the optimiser, or continue with these moments."""

    def run(self, examples: Examples, batches: Sequence[Ints], rates: Sequence[float], seed: int) -> None:
        """One step per batch, each at its learning rate; dropout draws from the seed."""

    def moments(self) -> dict[str, Tensor]:
        """A copy of the optimiser's state."""


class PlainSteps:
    """Step by step, on any device."""

    def __init__(self, classifier: Classifier, rules: Rules, loss: Loss = CROSS_ENTROPY) -> None:
        self._classifier, self._loss = classifier, loss
        self._named = classifier.trainable()
        self._optimizer = AdamW(self._named, rules.weight_decay)

    def begin(self, moments: Weights | None) -> None:
        self._optimizer.state.clear()
        for name in self._named:
            # A parameter that does not influence the logits has no moments.
            if moments and f"step/{name}" in moments:
                self._optimizer.state[name] = {part: moments[f"{part}/{name}"].clone() for part in PARTS}

    def run(self, examples: Examples, batches: Sequence[Ints], rates: Sequence[float], seed: int) -> None:
        self._loss.prepare(self._classifier.device.torch)
        with seeded(seed):
            for batch, rate in zip(batches, rates, strict=True):
                self._step(examples, batch, float(rate))

    def moments(self) -> dict[str, Tensor]:
        return {name: value.clone() for name, value in self._optimizer.moments().items()}

    def _step(self, examples: Examples, batch: Ints, rate: float) -> None:
        # The order inside a batch is free; without dropout, attention computes neighbours of one length at once.
        batch = batch[np.argsort(examples.source.lengths(examples.rows[batch]), kind="stable")]
        self._optimizer.clear()
        logits = self._classifier.logits_of(examples.source, examples.rows[batch])
        target = torch.from_numpy(examples.labels[batch]).to(logits.device)
        self._loss(logits, target).backward()
        self._optimizer.step(rate)
