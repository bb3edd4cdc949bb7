"""Optimiser steps: AdamW, at a rate for each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from hybridal.core.outputs import Ints
from hybridal.core.rules import Rules
from hybridal.models.classifier import Classifier, seeded
from hybridal.models.examples import Examples
from hybridal.updates import Weights

# What AdamW keeps of each parameter.
PARTS = ("step", "exp_avg", "exp_avg_sq")


class Steps(Protocol):
    """Trains a classifier, some steps at a time."""

    def begin(self, moments: Weights | None) -> None:
        """A fresh optimiser, or one that carries these moments on."""

    def run(self, examples: Examples, batches: Sequence[Ints], rates: Sequence[float], seed: int) -> None:
        """One step a batch, each at its rate; dropout draws from the seed."""

    def moments(self) -> dict[str, Tensor]:
        """A copy of the optimiser's state."""


class PlainSteps:
    """Step by step, on any device."""

    def __init__(self, classifier: Classifier, rules: Rules) -> None:
        self._classifier = classifier
        self._named = classifier.trainable()
        self._optimizer: Any = torch.optim.AdamW(
            self._named.values(), lr=rules.learning_rate, weight_decay=rules.weight_decay, fused=True
        )

    def begin(self, moments: Weights | None) -> None:
        self._optimizer.state.clear()
        for name, parameter in self._named.items():
            # A parameter that takes no part in the logits has never been stepped, and has no moments.
            carried = {part: moments[f"{part}/{name}"] for part in PARTS if moments and f"{part}/{name}" in moments}
            if carried:
                self._optimizer.state[parameter] = {part: value.clone() for part, value in carried.items()}

    def run(self, examples: Examples, batches: Sequence[Ints], rates: Sequence[float], seed: int) -> None:
        with seeded(seed):
            for batch, rate in zip(batches, rates, strict=True):
                self._optimizer.param_groups[0]["lr"] = float(rate)
                self._step(examples, batch)

    def moments(self) -> dict[str, Tensor]:
        return {
            f"{part}/{name}": value.clone()
            for name, parameter in self._named.items()
            for part, value in self._optimizer.state[parameter].items()
        }

    def _step(self, examples: Examples, batch: Ints) -> None:
        # The order inside a batch is free; without dropout, attention takes neighbours of one length together.
        batch = batch[np.argsort(examples.source.lengths(examples.rows[batch]), kind="stable")]
        self._optimizer.zero_grad(set_to_none=True)
        logits = self._classifier.logits_of(examples.source, examples.rows[batch])
        target = torch.from_numpy(examples.labels[batch]).to(logits.device)
        nn.functional.cross_entropy(logits, target).backward()
        self._optimizer.step()
