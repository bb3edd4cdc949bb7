"""The probe: a multinomial logistic regression on an encoder's features, which a head can start from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats, Ints
from hybridal.measures.calibration import log_softmax, nll
from hybridal.randomness import stream
from hybridal.system.thread_count import one_blas_thread

# What the squared weights may cost beside the sum of the labels' losses, where features have unit variance. Noisy
# tasks want much, many clear classes little; which one fits is found out by cross-fitting.
PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0)
PENALTY = 10.0  # where there are too few labels to find out
# Labels that the penalty is chosen on: more hardly change it, and cost time.
ENOUGH, TOO_FEW = 240, 10
# It is chosen again when the labels have grown by so much.
GROWTH = 1.25
# What each class knows before its first label, as a share of one label at the mean of all features.
BEFOREHAND = 0.1
# With more classes than this, their shares are one row of the fit in place of a row each, which is the same up to
# rounding: rows times classes are numbers in every step, 800 MB of them for 10,000 classes.
MANY = 1000
# The solver stops where a step gains less than this many times the last digit, sooner where penalties are compared; or
# after far more steps than it needs.
FACTR, ROUGHLY, MOST = 1e9, 1e11, 500

Known = tuple[Floats, Ints]
"""Features, and the class of each."""


@dataclass(frozen=True)
class Probe:
    """A linear layer: logits are `features @ weight.T + bias`. `penalty` is what its squared weights cost."""

    weight: NDArray[np.float64]
    bias: NDArray[np.float64]
    penalty: float = PENALTY

    def logits(self, features: Floats) -> NDArray[np.float64]:
        found: NDArray[np.float64] = features @ self.weight.T + self.bias
        return found


class Prober:
    """Fits probes to labels as they come. The labels that the penalty is chosen on are seldom others, and to choose it
    takes as long as the fit.
    """

    def __init__(self, seed: int) -> None:
        self._seed, self._chosen_on, self._penalty = seed, (0, b"", b""), PENALTY

    def best(self, features: Floats, labels: Ints, classes: int, said: Known | None = None) -> Probe:
        """A probe whose penalty gives labels that it has not seen the best probabilities."""
        known = last_growth(len(labels))
        chosen_on = classes, features[:known].tobytes(), labels[:known].tobytes()
        if chosen_on != self._chosen_on:
            self._penalty = best_penalty(features, labels, classes, self._seed)
            self._chosen_on = chosen_on
        return fit_probe(features, labels, classes, self._penalty, said)


def best_penalty(features: Floats, labels: Ints, classes: int, seed: int) -> float:
    """The penalty that makes labels likeliest that were left out of the fit.

    Found out on the first of the labels, as many as there were when they had last grown enough: it changes slowly.
    """
    known = last_growth(len(labels))
    if not known:
        return PENALTY
    rng = stream(seed, "probe", known)
    some = rng.permutation(known)[:ENOUGH]
    logits = cross_fitted(features[some], labels[some], classes, rng, 3, PENALTIES)
    return min(zip(PENALTIES, logits, strict=True), key=lambda pair: nll(pair[1], labels[some]))[0]


def last_growth(labels: int) -> int:
    """The most labels up to these at which a penalty is chosen, or 0.

    >>> last_growth(9), last_growth(11), last_growth(12), last_growth(968)
    (0, 10, 12, 891)
    """
    known, more = 0, TOO_FEW
    while more <= labels:
        known, more = more, int(GROWTH * more)
    return known


@one_blas_thread()
def fit_probe(
    features: Floats, labels: Ints, classes: int, penalty: float = PENALTY, said: Known | None = None
) -> Probe:
    """The weights that make these labels likeliest, less half the penalty times their squares.

    A class without labels gets a small probability everywhere, since each has a share of one label beforehand. What is
    `said` of classes, their names and meanings, counts like labels.

    >>> probe = fit_probe(np.array([[-1.0], [-2.0], [1.0]]), np.array([0, 0, 1]), classes=3, penalty=0.1)
    >>> probe.logits(np.array([[-1.5], [3.0]])).argmax(axis=1).tolist()
    [0, 1]
    """
    return _Fit(*together(features, labels, said), classes).probe(penalty)


def together(features: Floats, labels: Ints, said: Known | None) -> Known:
    """All that there is to learn from.

    >>> together(np.ones((1, 2)), np.array([1]), (np.zeros((2, 2)), np.array([0, 1])))[1].tolist()
    [1, 0, 1]
    """
    if said is None:
        return features, labels
    return np.concatenate([features, said[0]]), np.concatenate([labels, said[1]])


@one_blas_thread()
def cross_fitted(
    features: Floats,
    labels: Ints,
    classes: int,
    rng: np.random.Generator,
    folds: int,
    penalties: Sequence[float],
    said: Known | None = None,
) -> NDArray[np.float64]:
    """(P, N, C): the logits of each example by probes that have not seen its label, one for each penalty.

    >>> features = np.array([[-1.0], [-1.2], [1.0], [1.1]])
    >>> cross_fitted(features, np.array([0, 0, 1, 1]), 2, np.random.default_rng(0), 4, [0.1]).argmax(axis=2).tolist()
    [[0, 0, 1, 1]]
    """
    found = np.empty((len(penalties), len(labels), classes))
    for fold in np.array_split(rng.permutation(len(labels)), min(folds, len(labels))):
        rest = np.setdiff1d(np.arange(len(labels)), fold)
        fit = _Fit(*together(features[rest], labels[rest], said), classes)
        # From the largest down, each from where the last one ended, which is not far.
        for number in np.argsort(penalties)[::-1]:
            found[number, fold] = fit.probe(penalties[number], ROUGHLY).logits(features[fold])
    return found


class _Fit:
    """The fits to the same labels. Each starts from the weights of the last one.

    The weights lie in the span of the features, so that few labels need few numbers. Along its axes, in units in
    which the loss is about equally steep, the solver needs tens of steps in place of thousands.
    """

    def __init__(self, features: Floats, labels: Ints, classes: int) -> None:
        self.classes, self.centre = classes, features.mean(axis=0, dtype=np.float64)
        left, self.sizes, self.axes = np.linalg.svd(features - self.centre, full_matrices=False)
        # What classes know beforehand lies at one point: a row each, or one row for all of very many.
        beforehand = np.eye(classes) if classes <= MANY else np.ones((1, classes))
        self.points = np.vstack([left * self.sizes, np.zeros((len(beforehand), len(self.sizes)))])
        self.wanted = np.zeros((len(self.points), classes))
        self.wanted[np.arange(len(labels)), labels] = 1.0
        self.wanted[len(labels) :] = BEFOREHAND * beforehand
        self.counts = self.wanted.sum(axis=1)
        self.weight, self.bias = np.zeros((classes, len(self.sizes))), np.zeros(classes)

    def probe(self, penalty: float, factr: float = FACTR) -> Probe:
        from scipy.optimize import fmin_l_bfgs_b

        scale = 1.0 / np.sqrt(self.sizes**2 / self.classes + penalty)
        points, classes = self.points * scale, self.classes

        def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            weight, bias = flat[classes:].reshape(classes, -1), flat[:classes]
            logs = log_softmax(points @ weight.T + bias)
            value = 0.5 * penalty * ((weight * scale) ** 2).sum() - (self.wanted * logs).sum()
            error = np.exp(logs) * self.counts[:, None] - self.wanted
            slope = error.T @ points + penalty * weight * scale**2
            return float(value), np.concatenate([error.sum(axis=0), slope.ravel()])

        start = np.concatenate([self.bias, (self.weight / scale).ravel()])
        found = fmin_l_bfgs_b(loss, start, factr=factr, pgtol=1e-5, maxiter=MOST)[0]
        self.weight, self.bias = found[classes:].reshape(classes, -1) * scale, found[:classes]
        weight = self.weight @ self.axes
        return Probe(weight, self.bias - weight @ self.centre, penalty)
