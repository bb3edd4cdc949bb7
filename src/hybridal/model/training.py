"""One round's training: epochs until validation loss stops falling, best weights restored."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hybridal.calibration import nll
from hybridal.facts import Cost
from hybridal.model.classifier import Classifier
from hybridal.model.cuda.steps import GraphSteps
from hybridal.model.examples import Examples
from hybridal.model.role import Fit
from hybridal.model.steps import PlainSteps, Steps
from hybridal.outputs import Floats, Ints, Outputs
from hybridal.protocol import Protocol
from hybridal.randomness import key, stream
from hybridal.stopwatch import Stopwatch
from hybridal.updates import Plan, Weights

EpochDone = Callable[[int, int], None]


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
    steps = _steps(classifier, rules)
    steps.begin(plan.moments)
    shuffles = stream(seed, "shuffle", round)
    size = plan.batch or rules.train_batch
    epochs = rules.max_epochs if len(examples.rows) else 0
    best = Best(rules, validation_labels)
    taken = epoch = 0
    for epoch in range(1, epochs + 1):
        with watch("train"), classifier.training(plan.dropout):
            batches = examples.batches(size, shuffles)
            steps.epoch(examples, batches, key(seed, f"dropout-{epoch}", round))
            taken += len(batches)
        epoch_done(epoch, epochs)
        if validate is not None and rules.stop_after is not None:
            with watch("validate"):
                best.see(epoch, validate(), classifier)
            if epoch - best.epoch >= rules.stop_after:
                break
    if 0 < best.epoch < epoch:
        classifier.load(best.weights)
    elif not best.epoch:
        with watch("validate"):
            best.take(epoch, validate() if validate else None, classifier)
    moments = steps.moments() if plan.keeps_moments else None
    tokens = int(examples.source.lengths(examples.rows).sum())
    cost = Cost(steps=taken, examples=epoch * len(examples.rows), tokens=epoch * tokens, epochs=epoch)
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
        self.epoch, self.outputs = epoch, outputs
        if self.weights:
            classifier.copy_to(self.weights)  # new memory would cost more than the copy
        else:
            self.weights = classifier.weights()


def validation_loss(logits: Floats, labels: Ints, rules: Protocol) -> float:
    """The mean over examples, or as published the mean of the means of batches in their original order."""
    if rules.validation_loss == "examples":
        return nll(logits, labels)
    size = rules.train_batch
    starts = range(0, len(labels), size)
    return float(np.mean([nll(logits[s : s + size], labels[s : s + size]) for s in starts]))


def _steps(classifier: Classifier, rules: Protocol) -> Steps:
    """The fastest way to train this classifier; graphs, once recorded, serve all its rounds."""
    if (recorder := classifier.recorder) is None:
        return PlainSteps(classifier, rules)
    return recorder.once(("steps", rules), lambda: GraphSteps(classifier, recorder, rules))
