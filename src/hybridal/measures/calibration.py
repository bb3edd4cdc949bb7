"""The calibration of a classifier's probabilities, and temperature scaling."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats, Ints
from hybridal.errors import UserError

MIN_TEMPERATURE, MAX_TEMPERATURE = 0.05, 20.0
# The prior of a log temperature: its mean and standard deviation, and the standard deviation around the last round's.
# Models trained on few labels are overconfident: most of 117 log temperatures on nine tasks were between 0.1 and 1.3.
PRIOR_MEAN, PRIOR_SPREAD, ROUND_SPREAD = 0.4, 0.5, 0.5
BINS = 15


def check_pairs(rows: Floats, labels: Ints) -> None:
    """Raise UserError unless there is at least one row, and a valid class number for each row."""
    if len(labels) == 0:
        raise UserError("There are no labelled examples to measure on; give the split at least one.")
    if rows.ndim != 2 or len(rows) != len(labels):
        raise UserError(f"There are {len(labels)} labels for outputs of shape {rows.shape}; each needs its own row.")
    if labels.min() < 0 or labels.max() >= rows.shape[1]:
        raise UserError(f"Every label must be one of the {rows.shape[1]} classes, from 0 to {rows.shape[1] - 1}.")


def log_softmax(logits: Floats, temperature: float = 1.0) -> NDArray[np.float64]:
    """The logarithms of the class probabilities, of each row.

    >>> log_softmax(np.array([[0.0, 0.0]])).round(4).tolist()
    [[-0.6931, -0.6931]]
    """
    if not 0 < temperature < math.inf:
        raise UserError(f"A temperature must be a positive number, not {temperature}.")
    # Subtract the maximum, so that no exponential overflows.
    shifted = (logits - logits.max(axis=1, keepdims=True)).astype(np.float64) / temperature
    normalised: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return normalised


def softmax(logits: Floats, temperature: float = 1.0) -> NDArray[np.float64]:
    """The class probabilities of each row; a high temperature flattens them.

    >>> softmax(np.array([[0.0, 2.0]])).round(3).tolist(), softmax(np.array([[0.0, 2.0]]), 4.0).round(3).tolist()
    ([[0.119, 0.881]], [[0.378, 0.622]])
    """
    probabilities: NDArray[np.float64] = np.exp(log_softmax(logits, temperature))
    return probabilities


def nll(logits: Floats, labels: Ints, temperature: float = 1.0) -> float:
    """The negative log-likelihood, in nats, as the mean over examples.

    >>> round(nll(np.array([[0.0, 0.0], [0.0, 2.0]]), np.array([0, 1])), 4)
    0.41
    """
    check_pairs(logits, labels)
    return float(-log_softmax(logits, temperature)[np.arange(len(labels)), labels].mean())


def temperature(logits: Floats, labels: Ints) -> float:
    """Fit the temperature by maximum likelihood, between 0.05 and 20; 1 if no temperature is better than 1.

    The bounds are reached if validation has no mistake (the optimum is 0) or only mistakes (the optimum is infinite).

    >>> logits = np.array([[0.0, 4.0]] * 4)  # sure of class 1 by 4 nats, and right three times in four
    >>> round(temperature(logits, np.array([1, 1, 1, 0])), 3)  # 4 / log 3
    3.641
    """
    _check_fittable(logits, labels)
    return fit_by_likelihood(lambda t: nll(logits, labels, t))


def fit_by_likelihood(loss: Callable[[float], float]) -> float:
    """Return the temperature with the lowest loss; 1 if no temperature is better than 1.

    Args:
        loss: The negative log-likelihood at a temperature.

    Example:
        >>> round(fit_by_likelihood(lambda t: (t - 2.0) ** 2), 3)
        2.0
    """
    fitted = _minimise(lambda log_t: loss(math.exp(log_t)))
    return fitted if loss(fitted) < loss(1.0) else 1.0


def shrunk_temperature(logits: Floats, labels: Ints, last: float | None = None, trained: bool = True) -> float:
    """Fit the temperature with a prior (MAP), so that few labels move it little.

    The prior is around 1.5, or around 1 for a probe, whose penalty was chosen by its likelihood; and also around the
    last round's temperature if there was one.

    >>> logits, labels = np.array([[0.0, 4.0]] * 4), np.array([1, 1, 1, 0])
    >>> round(shrunk_temperature(logits, labels), 3), round(shrunk_temperature(logits[:0], labels[:0], last=1.5), 3)
    (1.963, 1.496)
    """
    if len(labels):
        _check_fittable(logits, labels)
    return fit_with_prior(lambda t: len(labels) * nll(logits, labels, t) if len(labels) else 0.0, last, trained)


def fit_with_prior(loss: Callable[[float], float], last: float | None = None, trained: bool = True) -> float:
    """Return the most probable temperature under the prior of `shrunk_temperature`.

    Args:
        loss: The negative log-likelihood of all labels together at a temperature.
        last: The last round's temperature, if there was one.
        trained: Whether the encoder was trained.

    Example:
        >>> round(fit_with_prior(lambda t: 0.0, trained=False), 3)
        1.0
    """

    def cost(log_t: float) -> float:
        prior = ((log_t - (PRIOR_MEAN if trained else 0.0)) / PRIOR_SPREAD) ** 2 / 2
        if last is not None:
            prior += ((log_t - math.log(last)) / ROUND_SPREAD) ** 2 / 2
        return prior + loss(math.exp(log_t))

    return _minimise(cost)


def _check_fittable(logits: Floats, labels: Ints) -> None:
    check_pairs(logits, labels)
    if not np.isfinite(logits).all():
        raise UserError(
            "The logits are not finite, so no temperature fits them; training has diverged: lower the learning rate."
        )


def _minimise(cost: Callable[[float], float]) -> float:
    """The temperature with the lowest cost; `cost` takes its logarithm."""
    from scipy.optimize import minimize_scalar

    # The loss is convex in 1/T, so it has one minimum in log T, where 0.05 is as far from 1 as 20.
    bounds = (math.log(MIN_TEMPERATURE), math.log(MAX_TEMPERATURE))
    found = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-7})
    return math.exp(float(found.x))


@dataclass(frozen=True)
class Reliability:
    """Confidence and accuracy per bin of a reliability diagram; all values of an empty bin are 0.

    `edges` has one more entry than there are bins.
    """

    edges: NDArray[np.float64]
    count: NDArray[np.int64]
    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]


def reliability(probabilities: Floats, labels: Ints, bins: int = BINS) -> Reliability:
    """Bin the probabilities of the predicted class for a reliability diagram.

    Bins have equal width, and are open below and closed above.

    >>> diagram = reliability(np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0, 0]), bins=2)
    >>> diagram.count.tolist(), diagram.confidence.round(3).tolist(), diagram.accuracy.tolist()
    ([0, 2], [0.0, 0.7], [0.0, 0.5])
    """
    check_pairs(probabilities, labels)
    edges = np.linspace(0.0, 1.0, bins + 1)
    confidence = probabilities.max(axis=1).astype(np.float64)
    right = (probabilities.argmax(axis=1) == labels).astype(np.float64)
    # A probability rounded above 1 belongs in the last bin, and 0 in the first.
    where = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, bins - 1)
    count = np.bincount(where, minlength=bins)
    shared = np.maximum(count, 1)
    return Reliability(
        edges,
        count,
        np.bincount(where, weights=confidence, minlength=bins) / shared,
        np.bincount(where, weights=right, minlength=bins) / shared,
    )


def ece(probabilities: Floats, labels: Ints, bins: int = BINS) -> float:
    """The expected calibration error of the predicted class, from 0 (perfectly calibrated) to 1.

    >>> round(ece(np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0, 0])), 6)  # (|1 - 0.8| + |0 - 0.6|) / 2
    0.4
    """
    diagram = reliability(probabilities, labels, bins)
    gaps = np.abs(diagram.accuracy - diagram.confidence)
    return float(gaps @ diagram.count / len(labels))


def brier(probabilities: Floats, labels: Ints) -> float:
    """The Brier score in its multi-class sum form: squared errors summed over classes, averaged over examples.

    It runs from 0 to 2; with two classes it is twice the one-class form.

    >>> round(brier(np.array([[0.8, 0.2], [0.4, 0.6]]), np.array([0, 0])), 6)  # (0.08 + 0.72) / 2
    0.4
    """
    check_pairs(probabilities, labels)
    errors = probabilities.astype(np.float64)
    errors[np.arange(len(labels)), labels] -= 1.0
    return float((errors**2).sum(axis=1).mean())
