"""One round's training: epochs until validation loss stops falling, best weights restored."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, cast

import numpy as np

from hybridal.core.facts import Cost
from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.core.rules import Rules
from hybridal.measures.calibration import nll
from hybridal.models.classifier import Classifier
from hybridal.models.model_protocol import Fit
from hybridal.models.training.examples import Examples
from hybridal.models.training.learning_rate import rates
from hybridal.models.training.optimiser_steps import PlainSteps, Steps
from hybridal.randomness import key, stream
from hybridal.system.stopwatch import Stopwatch
from hybridal.updates import Plan, Weights

EpochDone = Callable[[int, int], None]


def fit(
    classifier: Classifier,
    plan: Plan,
    examples: Examples,
    validate: Callable[[], Outputs] | None,
    validation_labels: Ints,
    rules: Rules,
    seed: int,
    round: int,
    epoch_done: EpochDone = lambda _epoch, _of: None,
) -> Fit:
    """Trains the classifier as planned. `validate` is one pass over validation, or None where there is none.

    Without validation, or with `stop_after` None, all epochs run, and the last weights are kept, or with `average` the
    mean of the second half.
    """
    watch = Stopwatch(classifier.device.synchronise)
    classifier.load(plan.weights)
    steps = _steps(classifier, rules)
    steps.begin(plan.moments)
    size = plan.batch or rules.train_batch
    epochs = rules.epochs(len(examples.rows), size, plan.epochs)
    steps_an_epoch = math.ceil(len(examples.rows) / size)
    looks_an_epoch = max(1, min(rules.validations_per_epoch, steps_an_epoch))
    total = epochs * steps_an_epoch
    rate = rates(total, rules)
    best, average = Best(rules, validation_labels), Average()
    stops = validate is not None and rules.stop_after is not None

    def look(number: int) -> bool:
        """Measures; whether training has gone on for long enough without getting better."""
        assert validate is not None
        with watch("validate"):
            best.see(number, validate(), classifier)
        return number - (best.look or 0) >= (rules.stop_after or 0)

    if stops and rules.keep_start:
        look(0)
    taken = looks = trained = tokens = 0
    for epoch, part, batches in _stretches(examples, size, epochs, looks_an_epoch, stream(seed, "shuffle", round)):
        dropout = key(seed, f"dropout-{epoch}{part}", round)
        with watch("train"), classifier.training(plan.dropout):
            steps.run(examples, batches, rate[taken : taken + len(batches)].tolist(), dropout)
        taken, looks = taken + len(batches), looks + 1
        trained += sum(map(len, batches))
        tokens += sum(int(examples.source.lengths(examples.rows[batch]).sum()) for batch in batches)
        if looks % looks_an_epoch == 0:
            epoch_done(epoch, epochs)
        if stops and look(looks):
            break
        if rules.average and not stops and 2 * taken > total:
            average.add(classifier)
    if average.count:
        classifier.load(average.weights)
    if best.look is None:
        with watch("validate"):
            best.take(looks, validate() if validate else None, classifier)
    elif best.look < looks:
        classifier.load(best.weights)
    moments = steps.moments() if plan.keeps_moments else None
    cost = Cost(steps=taken, examples=trained, tokens=tokens, epochs=math.ceil(looks / looks_an_epoch), planned=total)
    kept = (best.look or 0) / looks_an_epoch
    return Fit(best.weights, cost, int(kept) if kept.is_integer() else kept, best.outputs, moments, watch.seconds)


def _stretches(
    examples: Examples, size: int, epochs: int, looks: int, rng: np.random.Generator
) -> Iterator[tuple[int, str, list[Ints]]]:
    """What is trained between two looks: the epoch, which part of it ("" where it is whole), and its batches."""
    for epoch in range(1, epochs + 1):
        batches = examples.batches(size, rng)
        ends = [round(len(batches) * part / looks) for part in range(looks + 1)]
        for part, (start, end) in enumerate(pairwise(ends)):
            yield epoch, f"-{part}" if looks > 1 else "", batches[start:end]


class Best:
    """The best look so far: one that lowered the best validation loss by more than `min_delta`.

    The best loss starts at infinity each round, so that no round ends before its first look is kept.
    """

    def __init__(self, rules: Rules, labels: Ints) -> None:
        self.rules, self.labels = rules, labels
        self.loss, self.look = float("inf"), cast("int | None", None)
        self.weights: Weights = {}
        self.outputs: Outputs | None = None

    def see(self, look: int, outputs: Outputs, classifier: Classifier) -> None:
        """Keeps this look's weights if they are better."""
        loss = validation_loss(outputs.logits, self.labels, self.rules)
        if loss < self.loss - self.rules.min_delta:
            self.loss = loss
            self.take(look, outputs, classifier)

    def take(self, look: int, outputs: Outputs | None, classifier: Classifier) -> None:
        self.look, self.outputs = look, outputs
        if self.weights:
            classifier.copy_to(self.weights)  # new memory would cost more than the copy
        else:
            self.weights = classifier.weights()


class Average:
    """The mean of the weights that it was shown."""

    def __init__(self) -> None:
        self.count, self.weights = 0, cast("dict[str, Any]", {})

    def add(self, classifier: Classifier) -> None:
        self.count += 1
        if self.count == 1:
            self.weights = classifier.weights()
            return
        for name, parameter in classifier.trainable().items():
            self.weights[name].lerp_(parameter.detach(), 1 / self.count)


def validation_loss(logits: Floats, labels: Ints, rules: Rules) -> float:
    """The mean over examples, or as published the mean of the means of batches in their original order."""
    if rules.validation_loss == "examples":
        return nll(logits, labels)
    size = rules.train_batch
    starts = range(0, len(labels), size)
    return float(np.mean([nll(logits[s : s + size], labels[s : s + size]) for s in starts]))


def _steps(classifier: Classifier, rules: Rules) -> Steps:
    """The fastest way to train this classifier."""
    steps: Steps = PlainSteps(classifier, rules) if classifier.graphs is None else classifier.graphs.steps(rules)
    return steps
