"""One round's training: AdamW at a constant rate, early stopping on validation loss, best weights restored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hybridal.calibration import nll
from hybridal.facts import Cost
from hybridal.model.classifier import Classifier, seeded
from hybridal.model.role import Fit
from hybridal.outputs import Floats, Ints, Outputs
from hybridal.protocol import Protocol
from hybridal.randomness import key, stream
from hybridal.stopwatch import Stopwatch
from hybridal.tokens import Tokens
from hybridal.updates import Plan, Weights

EpochDone = Callable[[int, int], None]


@dataclass(frozen=True)
class Examples:
    """What to train on: rows of the token array with their labels."""

    tokens: Tokens
    rows: Ints
    labels: Ints

    def batches(self, size: int, rng: np.random.Generator) -> Iterator[Ints]:
        order = rng.permutation(len(self.rows))
        for start in range(0, len(order), size):
            yield order[start : start + size]


def fit(
    classifier: Classifier,
    plan: Plan,
    examples: Examples,
    validate: Callable[[], Outputs] | None,
    validation_labels: Ints,
    rules: Protocol,
    seed: int,
    round: int,
    epoch_done: EpochDone = lambda _epoch, _of: None,
) -> Fit:
    """Trains the classifier as planned. `validate` is one pass over validation, or None where there is none.

    Without validation, or with `stop_after` None, all epochs run and the last is kept.
    """
    watch = Stopwatch(classifier.device.synchronise)
    classifier.load(plan.weights)
    optimizer = _optimizer(classifier, rules, plan.moments)
    shuffles = stream(seed, "shuffle", round)
    size = plan.batch or rules.train_batch
    epochs = rules.max_epochs if len(examples.rows) else 0
    best = Best(rules, validation_labels)
    steps = epoch = 0
    for epoch in range(1, epochs + 1):
        with watch("train"), classifier.training(plan.dropout), seeded(key(seed, f"dropout-{epoch}", round)):
            for batch in examples.batches(size, shuffles):
                _step(classifier, optimizer, examples, batch)
                steps += 1
        epoch_done(epoch, epochs)
        if validate is not None and rules.stop_after is not None:
            with watch("validate"):
                best.see(epoch, validate(), classifier)
            if epoch - best.epoch >= rules.stop_after:
                break
    if best.epoch:
        classifier.load(best.weights)
    else:
        with watch("validate"):
            best.take(epoch, validate() if validate else None, classifier)
    moments = _moments(classifier, optimizer) if plan.keeps_moments else None
    tokens = int(examples.tokens.lengths(examples.rows).sum())
    cost = Cost(steps=steps, examples=epoch * len(examples.rows), tokens=epoch * tokens, epochs=epoch)
    return Fit(best.weights, cost, best.epoch, best.outputs, moments, watch.seconds)


class Best:
    """The best epoch so far: one that lowered the best validation loss by more than `min_delta`.

    The best loss starts at infinity each round, so that no round ends before its first epoch is kept.
    """

    def __init__(self, rules: Protocol, labels: Ints) -> None:
        self.rules, self.labels = rules, labels
        self.loss, self.epoch = float("inf"), 0
        self.weights: Weights = {}
        self.outputs: Outputs | None = None

    def see(self, epoch: int, outputs: Outputs, classifier: Classifier) -> None:
        """Keeps this epoch if it is better."""
        loss = validation_loss(outputs.logits, self.labels, self.rules)
        if loss < self.loss - self.rules.min_delta:
            self.loss = loss
            self.take(epoch, outputs, classifier)

    def take(self, epoch: int, outputs: Outputs | None, classifier: Classifier) -> None:
        self.epoch, self.outputs, self.weights = epoch, outputs, classifier.weights()


def validation_loss(logits: Floats, labels: Ints, rules: Protocol) -> float:
    """The mean over examples, or as published the mean of the means of batches in their original order."""
    if rules.validation_loss == "examples":
        return nll(logits, labels)
    size = rules.train_batch
    starts = range(0, len(labels), size)
    return float(np.mean([nll(logits[s : s + size], labels[s : s + size]) for s in starts]))


def _step(classifier: Classifier, optimizer: Any, examples: Examples, batch: Ints) -> None:
    """One optimiser step."""
    ids, mask = classifier.batch(examples.tokens, examples.rows[batch])
    target = torch.from_numpy(examples.labels[batch]).to(ids.device)
    loss = nn.functional.cross_entropy(classifier.logits(ids, mask), target)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


def _optimizer(classifier: Classifier, rules: Protocol, moments: Weights | None) -> Any:
    named = dict(classifier.module.named_parameters())
    optimizer = torch.optim.AdamW(named.values(), lr=rules.learning_rate, weight_decay=rules.weight_decay, fused=True)
    if moments is not None:
        for name, parameter in named.items():
            # A parameter that takes no part in the logits has never been stepped, and has no moments.
            parts = [part for part in ("step", "exp_avg", "exp_avg_sq") if f"{part}/{name}" in moments]
            if parts:
                optimizer.state[parameter] = {part: moments[f"{part}/{name}"].clone() for part in parts}
    return optimizer


def _moments(classifier: Classifier, optimizer: Any) -> dict[str, Tensor]:
    return {
        f"{part}/{name}": value.clone()
        for name, parameter in classifier.module.named_parameters()
        for part, value in optimizer.state[parameter].items()
    }
