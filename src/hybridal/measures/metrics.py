"""The metrics of a classifier's predictions."""

from __future__ import annotations

import numpy as np

from hybridal.core.outputs import Floats, Ints
from hybridal.core.rounds import Metrics
from hybridal.errors import UserError
from hybridal.measures import calibration


def right_count(labels: Ints, predictions: Ints) -> int:
    """How many predictions are right.

    >>> right_count(np.array([0, 1, 1]), np.array([0, 1, 0]))
    2
    """
    return int(np.count_nonzero(labels == predictions))


def accuracy(labels: Ints, predictions: Ints) -> float:
    """The share of right predictions.

    >>> accuracy(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]))
    0.75
    """
    _check_not_empty(labels)
    return right_count(labels, predictions) / len(labels)


def macro_f1(labels: Ints, predictions: Ints, classes: int) -> float:
    """The mean F1 of the classes that occur among the labels.

    The F1 of a class without a labelled text cannot be measured; a text that is predicted as such a class still counts
    as missed for its true class. If every class has a text, this is the usual macro-F1.

    Args:
        labels: The true class of each text.
        predictions: The predicted class of each text.
        classes: How many classes the task has.

    Returns:
        `sklearn.metrics.f1_score(labels, predictions, labels=np.unique(labels), average="macro")`.

    Raises:
        UserError: There are no labels.

    Example:
        >>> round(macro_f1(np.array([0, 1, 1]), np.array([0, 1, 0]), classes=3), 4)  # (2/3 + 2/3) / 2
        0.6667
    """
    _check_not_empty(labels)
    hits = np.bincount(labels[labels == predictions], minlength=classes)
    support = np.bincount(labels, minlength=classes)
    either = support + np.bincount(predictions, minlength=classes)
    present = support > 0
    return float((2 * hits[present] / either[present]).mean())


def measure(logits: Floats, labels: Ints, temperature: float = 1.0) -> Metrics:
    """All metrics of one split; the scaled ones are computed from the logits divided by the temperature.

    >>> found = measure(np.array([[0.0, 2.0], [0.0, 2.0]]), np.array([1, 0]), temperature=2.0)
    >>> found.right, found.accuracy, round(found.nll, 4), round(found.nll_scaled, 4)
    (1, 0.5, 1.1269, 0.8133)
    """
    calibration.check_pairs(logits, labels)
    predictions = logits.argmax(axis=1)
    probabilities = calibration.softmax(logits)
    return Metrics(
        n=len(labels),
        right=right_count(labels, predictions),
        accuracy=accuracy(labels, predictions),
        f1=macro_f1(labels, predictions, logits.shape[1]),
        nll=calibration.nll(logits, labels),
        ece=calibration.ece(probabilities, labels),
        brier=calibration.brier(probabilities, labels),
        nll_scaled=calibration.nll(logits, labels, temperature),
        ece_scaled=calibration.ece(calibration.softmax(logits, temperature), labels),
        support=tuple(np.bincount(labels, minlength=logits.shape[1]).tolist()),
    )


def _check_not_empty(labels: Ints) -> None:
    if len(labels) == 0:
        raise UserError("There are no labelled examples to measure on; give the split at least one.")
