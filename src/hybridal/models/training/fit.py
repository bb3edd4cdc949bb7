"""The training of one round: epochs until the validation loss stops falling, then the best weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from hybridal.core.outputs import Ints, Outputs
from hybridal.core.rounds import Cost
from hybridal.core.rules import Rules
from hybridal.models.classifier import Classifier
from hybridal.models.model_protocol import Fit
from hybridal.models.training.early_stopping import AverageWeights, BestWeights
from hybridal.models.training.examples import Examples
from hybridal.models.training.learning_rate import rates
from hybridal.models.training.losses import CROSS_ENTROPY, Loss
from hybridal.models.training.optimiser_steps import PlainSteps, Steps
from hybridal.randomness import key, stream
from hybridal.system.stopwatch import Stopwatch
from hybridal.updates import Plan

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
    loss: Loss = CROSS_ENTROPY,
) -> Fit:
    """Train a classifier as planned.

    Without validation, or with `rules.stop_after` None, all epochs run. Then the last weights are kept, or with
    `rules.average` the mean over the second half.

    Args:
        classifier: Ends with the weights that are kept.
        plan: Start weights, rows, dropout and optimiser moments.
        examples: What to train on.
        validate: One pass over the validation texts; None if there are none.
        validation_labels: Their labels.
        rules: Learning rate, epochs, early stopping.
        seed: Decides the order of examples and the dropout masks, with `round`.
        round: Number of the round.
        epoch_done: Called after each epoch with its number and the most there can be.
        loss: The training loss.

    Returns:
        The weights that were kept, their cost and the seconds of each phase.
    """
    watch = Stopwatch(classifier.device.synchronise)
    classifier.load(plan.weights)
    steps = _steps(classifier, rules, loss)
    steps.begin(plan.moments)
    size = plan.batch or rules.train_batch
    epochs = rules.epochs(len(examples.rows), size, plan.epochs)
    steps_per_epoch = math.ceil(len(examples.rows) / size)
    evaluations_per_epoch = max(1, min(rules.validations_per_epoch, steps_per_epoch))
    total = epochs * steps_per_epoch
    rate = rates(total, rules)
    best, average = BestWeights(rules, loss, validation_labels), AverageWeights()
    stops = validate is not None and rules.stop_after is not None

    def evaluate(number: int) -> bool:
        """Evaluate the classifier; return whether training stops now."""
        assert validate is not None
        with watch("validate"):
            return best.update(number, validate(), classifier)

    if stops and rules.keep_start:
        evaluate(0)
    taken = evaluations = trained = tokens = 0
    for epoch, part, batches in _parts(examples, size, epochs, evaluations_per_epoch, stream(seed, "shuffle", round)):
        dropout = key(seed, f"dropout-{epoch}{part}", round)
        with watch("train"), classifier.training(plan.dropout):
            steps.run(examples, batches, rate[taken : taken + len(batches)].tolist(), dropout)
        taken, evaluations = taken + len(batches), evaluations + 1
        trained += sum(map(len, batches))
        tokens += sum(int(examples.source.lengths(examples.rows[batch]).sum()) for batch in batches)
        if evaluations % evaluations_per_epoch == 0:
            epoch_done(epoch, epochs)
        if stops and evaluate(evaluations):
            break
        if rules.average and not stops and 2 * taken > total:
            average.add(classifier)
    if average.count:
        classifier.load(average.weights)
    if best.evaluation is None:
        with watch("validate"):
            best.keep(evaluations, validate() if validate else None, classifier)
    elif best.evaluation < evaluations:
        classifier.load(best.weights)
    moments = steps.moments() if plan.keeps_moments else None
    ran = math.ceil(evaluations / evaluations_per_epoch)
    cost = Cost(steps=taken, examples=trained, tokens=tokens, epochs=ran, planned=total)
    kept = (best.evaluation or 0) / evaluations_per_epoch
    return Fit(best.weights, cost, int(kept) if kept.is_integer() else kept, best.outputs, moments, watch.seconds)


def _parts(
    examples: Examples, size: int, epochs: int, parts: int, rng: np.random.Generator
) -> Iterator[tuple[int, str, list[Ints]]]:
    """The batches between two evaluations, with their epoch and a name of the part ("" for a whole epoch)."""
    for epoch in range(1, epochs + 1):
        batches = examples.batches(size, rng)
        ends = [round(len(batches) * part / parts) for part in range(parts + 1)]
        for part, (start, end) in enumerate(pairwise(ends)):
            yield epoch, f"-{part}" if parts > 1 else "", batches[start:end]


def _steps(classifier: Classifier, rules: Rules, loss: Loss) -> Steps:
    """The fastest way to train this classifier."""
    if classifier.graphs is None:
        return PlainSteps(classifier, rules, loss)
    steps: Steps = classifier.graphs.steps(rules, loss)
    return steps
