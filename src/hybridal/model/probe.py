"""The probe: a multinomial logistic regression on an encoder's features, which a head can start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridal.calibration import log_softmax, nll
from hybridal.outputs import Floats, Ints

# What the squared weights may cost beside the sum of the labels' losses, where features have unit variance. Noisy
# tasks want much, many clear classes little; which one fits is found out by cross-fitting.
PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0)
PENALTY = 10.0  # where there are too few labels to find out
# Labels that the penalty is chosen on: more hardly change it, and cost time.
ENOUGH, TOO_FEW = 240, 10
# What each class knows before its first label, as a share of one label at the mean of all features.
BEFOREHAND = 0.1
# The solver stops where a step gains less than this many times the last digit; or after far more steps than it needs.
FACTR, MOST = 1e9, 500


@dataclass(frozen=True)
class Probe:
    """A linear layer: logits are `features @ weight.T + bias`. `penalty` is what its squared weights cost."""

    weight: NDArray[np.float64]
    bias: NDArray[np.float64]
    penalty: float = PENALTY

    def logits(self, features: Floats) -> NDArray[np.float64]:
        found: NDArray[np.float64] = features @ self.weight.T + self.bias
        return found


def best_probe(features: Floats, labels: Ints, classes: int, rng: np.random.Generator) -> Probe:
    """A probe whose penalty gives labels that it has not seen the best probabilities."""
    return fit_probe(features, labels, classes, best_penalty(features, labels, classes, rng))


def best_penalty(features: Floats, labels: Ints, classes: int, rng: np.random.Generator) -> float:
    """The penalty that makes labels likeliest that were left out of the fit."""
    if len(labels) < TOO_FEW:
        return PENALTY
    some = rng.permutation(len(labels))[:ENOUGH]
    folds = int(rng.integers(2**31))

    def loss(penalty: float) -> float:
        same = np.random.default_rng(folds)
        return nll(cross_fitted(features[some], labels[some], classes, same, 3, penalty), labels[some])

    return min(PENALTIES, key=loss)


def fit_probe(features: Floats, labels: Ints, classes: int, penalty: float = PENALTY) -> Probe:
    """The weights that make these labels likeliest, less half the penalty times their squares.

    A class without labels gets a small probability everywhere, since each has a share of one label beforehand.

    >>> probe = fit_probe(np.array([[-1.0], [-2.0], [1.0]]), np.array([0, 0, 1]), classes=3, penalty=0.1)
    >>> probe.logits(np.array([[-1.5], [3.0]])).argmax(axis=1).tolist()
    [0, 1]
    """
    from scipy.optimize import fmin_l_bfgs_b

    centre = features.mean(axis=0, dtype=np.float64)
    # The weights lie in the span of the features, so that few labels need few numbers. Along its axes, in units in
    # which the loss is about equally steep, the solver needs tens of steps in place of thousands.
    left, sizes, axes = np.linalg.svd(features - centre, full_matrices=False)
    scale = 1.0 / np.sqrt(sizes**2 / classes + penalty)
    points = np.vstack([left * sizes * scale, np.zeros((classes, len(sizes)))])
    counts = np.concatenate([np.ones(len(labels)), np.full(classes, BEFOREHAND)])
    wanted = np.zeros((len(points), classes))
    wanted[np.arange(len(points)), np.concatenate([labels, np.arange(classes)])] = counts

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weight, bias = flat[classes:].reshape(classes, -1), flat[:classes]
        logs = log_softmax(points @ weight.T + bias)
        value = 0.5 * penalty * ((weight * scale) ** 2).sum() - (wanted * logs).sum()
        error = np.exp(logs) * counts[:, None] - wanted
        slope = error.T @ points + penalty * weight * scale**2
        return float(value), np.concatenate([error.sum(axis=0), slope.ravel()])

    start = np.zeros(classes * (1 + len(sizes)))
    found = fmin_l_bfgs_b(loss, start, factr=FACTR, pgtol=1e-5, maxiter=MOST)[0]
    weight = (found[classes:].reshape(classes, -1) * scale) @ axes
    return Probe(weight, found[:classes] - weight @ centre, penalty)


def cross_fitted(
    features: Floats, labels: Ints, classes: int, rng: np.random.Generator, folds: int = 5, penalty: float = PENALTY
) -> NDArray[np.float64]:
    """The logits of each example by a probe that has not seen its label.

    >>> features = np.array([[-1.0], [-1.2], [1.0], [1.1]])
    >>> cross_fitted(features, np.array([0, 0, 1, 1]), 2, np.random.default_rng(0), penalty=0.1).argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """
    found = np.empty((len(labels), classes))
    for fold in np.array_split(rng.permutation(len(labels)), min(folds, len(labels))):
        rest = np.setdiff1d(np.arange(len(labels)), fold)
        found[fold] = fit_probe(features[rest], labels[rest], classes, penalty).logits(features[fold])
    return found
