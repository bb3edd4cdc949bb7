"""When a training stops, and which weights it keeps: the best by validation loss, or the mean of several."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from hybridal.core.outputs import Floats, Ints, Outputs
from hybridal.core.rules import Rules
from hybridal.models.classifier import Classifier
from hybridal.models.training.losses import CROSS_ENTROPY, Loss
from hybridal.updates import Weights


class BestWeights:
    """The weights of the best evaluation so far: the last one that lowered the best loss by more than `min_delta`.

    The best loss starts at infinity in each round, so that the first evaluation is always kept. Training stops after
    `stop_after` evaluations without an improvement.

    Args:
        rules: `min_delta`, `stop_after`, and how the validation loss is averaged.
        loss: The training loss.
        labels: Of the validation texts.
    """

    def __init__(self, rules: Rules, loss: Loss, labels: Ints) -> None:
        self.rules, self.labels, self._loss = rules, labels, loss
        self.loss, self.evaluation = float("inf"), cast("int | None", None)
        self.weights: Weights = {}
        self.outputs: Outputs | None = None

    def update(self, evaluation: int, outputs: Outputs, classifier: Classifier) -> bool:
        """Keep the classifier's weights if this evaluation is better; return whether training stops now."""
        loss = validation_loss(outputs.logits, self.labels, self.rules, self._loss)
        if loss < self.loss - self.rules.min_delta:
            self.loss = loss
            self.keep(evaluation, outputs, classifier)
        return evaluation - (self.evaluation or 0) >= (self.rules.stop_after or 0)

    def keep(self, evaluation: int, outputs: Outputs | None, classifier: Classifier) -> None:
        """Keep the classifier's weights."""
        self.evaluation, self.outputs = evaluation, outputs
        if self.weights:
            classifier.copy_to(self.weights)  # allocating again would cost more than the copy
        else:
            self.weights = classifier.weights()


class AverageWeights:
    """The running mean of weights."""

    def __init__(self) -> None:
        self.count, self.weights = 0, cast("dict[str, Any]", {})

    def add(self, classifier: Classifier) -> None:
        """Include the classifier's current weights."""
        self.count += 1
        if self.count == 1:
            self.weights = classifier.weights()
            return
        for name, parameter in classifier.trainable().items():
            self.weights[name].lerp_(parameter.detach(), 1 / self.count)


def validation_loss(logits: Floats, labels: Ints, rules: Rules, loss: Loss = CROSS_ENTROPY) -> float:
    """The mean over examples; or, as in the published code, over the means of batches in their original order."""
    if rules.validation_loss == "examples":
        return loss.value(logits, labels)
    size = rules.train_batch
    starts = range(0, len(labels), size)
    return float(np.mean([loss.value(logits[s : s + size], labels[s : s + size]) for s in starts]))
