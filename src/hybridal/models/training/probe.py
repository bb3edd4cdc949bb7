"""The probe: a multinomial logistic regression on an encoder's features, from which a head can start."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats, Ints
from hybridal.measures.calibration import log_softmax
from hybridal.measures.objective import Objective
from hybridal.randomness import stream
from hybridal.system.thread_count import one_blas_thread

# Candidates for the L2 penalty, for features of unit variance. Noisy tasks need a large one, many clear classes a small
# one; it is chosen by cross-fitting.
PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0)
# With several labels per text each class has far fewer positive texts, and needs a larger one.
MULTI_LABEL_PENALTIES = (10.0, 30.0, 100.0, 300.0, 1000.0)
PENALTY = 10.0  # with too few labels to choose
# The penalty is chosen on at most and at least this many labels; more hardly change it.
MAX_LABELS, MIN_LABELS = 240, 10
FOLDS = 3  # for choosing the penalty, and whether descriptions mislead
# It is chosen again when the number of labels has grown by this factor.
GROWTH = 1.25
# Prior of each class: as many labels, at the mean of all features.
PRIOR, MULTI_LABEL_PRIOR = 1.0, 0.1
# As many labels count the descriptions of a class together (docs/decisions/011).
DESCRIPTION_WEIGHT, MULTI_LABEL_DESCRIPTION_WEIGHT = 16.0, 1.0
# Descriptions mislead if the loss of held-out labels is worse with them by this many standard errors.
MISLEADING = 2.0
# With more classes, all priors are one row of the fit instead of one row each: the same up to rounding, and 10,000
# classes would otherwise need 800 MB in every step.
MAX_PRIOR_ROWS = 1000
# How flat the loss of a decision is, for the scale of the solver: most are certain. With 200 it takes 30 to 50
# iterations on reuters90, goemotions and hallmarks, with 4 (that of an even chance) 60 to 170.
MULTI_LABEL_FLATNESS = 200
# L-BFGS stops when a step gains less than this factor times the machine precision, earlier when penalties are compared.
FACTR, ROUGH_FACTR, MAX_ITERATIONS = 1e9, 1e11, 500

LabelledFeatures = tuple[Floats, Ints]
"""Features, and the label of each."""


@dataclass(frozen=True)
class Probe:
    """A linear layer: logits are `features @ weight.T + bias`.

    Attributes:
        weight: A row per class.
        bias: A number per class.
        penalty: The L2 penalty that it was fitted with.
        uses_descriptions: Whether class descriptions, if there are any, do not mislead.
    """

    weight: NDArray[np.float64]
    bias: NDArray[np.float64]
    penalty: float = PENALTY
    uses_descriptions: bool = True

    def logits(self, features: Floats) -> NDArray[np.float64]:
        found: NDArray[np.float64] = features @ self.weight.T + self.bias
        return found


class ProbeFitter:
    """Fits probes to labels as they arrive, and remembers the penalty: choosing it takes as long as the fit.

    Args:
        seed: Seed of the folds.
        fitted: Called with the number of fits that are done, and how many there are.
    """

    def __init__(self, seed: int, fitted: Callable[[int, int], None] = lambda _fits, _of: None) -> None:
        self._seed, self._fitted, self._chosen_on = seed, fitted, (0, b"", b"", b"", b"")
        self._penalty, self._uses_descriptions = PENALTY, True

    def best(
        self,
        features: Floats,
        labels: Ints,
        objective: Objective,
        descriptions: LabelledFeatures | None = None,
        weights: Floats | None = None,
    ) -> Probe:
        """A probe with the penalty that gives held-out labels the highest probability; without misleading descriptions.

        Args:
            features: The features of the labelled texts.
            labels: Their labels.
            objective: Whether a text has one or several classes.
            descriptions: The features of class descriptions, and the class of each.
            weights: How much each label counts, a column or a column per class; None if all count 1.
        """
        known = last_growth(len(labels))
        described = b"" if descriptions is None else descriptions[0].tobytes() + descriptions[1].tobytes()
        weighted = b"" if weights is None else weights[:known].tobytes()
        chosen_on = objective.classes, features[:known].tobytes(), labels[:known].tobytes(), described, weighted
        if chosen_on != self._chosen_on:
            self._penalty = best_penalty(features, labels, objective, self._seed, weights)
            self._uses_descriptions = descriptions is None or not descriptions_mislead(
                features, labels, objective, self._seed, self._penalty, descriptions, weights, self._fold_done
            )
            self._chosen_on = chosen_on
        used = descriptions if self._uses_descriptions else None
        found = fit_probe(features, labels, objective, self._penalty, used, weights)
        self._fitted(FOLDS + 1, FOLDS + 1)
        return replace(found, uses_descriptions=self._uses_descriptions)

    def _fold_done(self, fold: int) -> None:
        self._fitted(fold, FOLDS + 1)


def best_penalty(
    features: Floats, labels: Ints, objective: Objective, seed: int, weights: Floats | None = None
) -> float:
    """The penalty that gives held-out labels the highest likelihood.

    It is chosen on the first `last_growth(len(labels))` labels only, since it changes slowly.
    """
    known = last_growth(len(labels))
    if not known:
        return PENALTY
    rng = stream(seed, "probe", known)
    some = rng.permutation(known)[:MAX_LABELS]
    penalties = MULTI_LABEL_PENALTIES if objective.multi_label else PENALTIES
    counts = None if weights is None else weights[some]
    logits = cross_fitted(features[some], labels[some], objective, rng, FOLDS, penalties, weights=counts)

    def loss(found: Floats) -> float:
        if counts is None:
            return objective.nll(found, labels[some])
        return float(objective.text_losses(found, labels[some]) @ counts.mean(axis=1))

    return min(zip(penalties, logits, strict=True), key=lambda pair: loss(pair[1]))[0]


def descriptions_mislead(
    features: Floats,
    labels: Ints,
    objective: Objective,
    seed: int,
    penalty: float,
    descriptions: LabelledFeatures,
    weights: Floats | None = None,
    fold_done: Callable[[int], None] = lambda _fold: None,
) -> bool:
    """Whether held-out labels are less probable with these descriptions, by two standard errors.

    As for the penalty, only the first `last_growth(len(labels))` labels count; with fewer than ten it is False.
    `fold_done` is called with the number of each fold that was fitted with descriptions.
    """
    known = last_growth(len(labels))
    if not known:
        return False
    some = stream(seed, "descriptions", known).permutation(known)[:MAX_LABELS]
    counts = None if weights is None else weights[some]
    losses = []
    for used, done in ((descriptions, fold_done), (None, lambda _fold: None)):
        rng = stream(seed, "descriptions, folds", known)
        logits = cross_fitted(features[some], labels[some], objective, rng, FOLDS, [penalty], used, counts, done)[0]
        losses.append(objective.text_losses(logits, labels[some]))
    worse: Floats = losses[0] - losses[1]
    if counts is not None:
        worse = worse * counts.mean(axis=1)
    return bool(worse.mean() > MISLEADING * worse.std(ddof=1) / math.sqrt(len(worse)))


def last_growth(labels: int) -> int:
    """The last number of labels, up to `labels`, at which a penalty is chosen; 0 if there is none.

    >>> last_growth(9), last_growth(11), last_growth(12), last_growth(968)
    (0, 10, 12, 891)
    """
    known, more = 0, MIN_LABELS
    while more <= labels:
        known, more = more, int(GROWTH * more)
    return known


@one_blas_thread()
def fit_probe(
    features: Floats,
    labels: Ints,
    objective: Objective,
    penalty: float = PENALTY,
    descriptions: LabelledFeatures | None = None,
    weights: Floats | None = None,
) -> Probe:
    """Maximise the log-likelihood of these labels minus half the penalty times the squared weights.

    A class without labels gets a small probability everywhere, from its prior. The descriptions of a class count as
    much as DESCRIPTION_WEIGHT labels together. Labels with a weight, such as those of a language model, count as much.

    >>> from hybridal.measures.objective import SingleLabel
    >>> probe = fit_probe(np.array([[-1.0], [-2.0], [1.0]]), np.array([0, 0, 1]), SingleLabel(3), penalty=0.1)
    >>> probe.logits(np.array([[-1.5], [3.0]])).argmax(axis=1).tolist()
    [0, 1]
    """
    return _Fit(features, labels, objective, descriptions, weights).probe(penalty)


@one_blas_thread()
def cross_fitted(
    features: Floats,
    labels: Ints,
    objective: Objective,
    rng: np.random.Generator,
    folds: int,
    penalties: Sequence[float],
    descriptions: LabelledFeatures | None = None,
    weights: Floats | None = None,
    fold_done: Callable[[int], None] = lambda _fold: None,
) -> NDArray[np.float64]:
    """Logits of each example from probes that have not seen its label, (penalties, N, classes).

    >>> from hybridal.measures.objective import SingleLabel
    >>> features, labels = np.array([[-1.0], [-1.2], [1.0], [1.1]]), np.array([0, 0, 1, 1])
    >>> cross_fitted(features, labels, SingleLabel(2), np.random.default_rng(0), 4, [0.1]).argmax(axis=2).tolist()
    [[0, 0, 1, 1]]
    """
    found = np.empty((len(penalties), len(labels), objective.classes))
    for at, fold in enumerate(np.array_split(rng.permutation(len(labels)), min(folds, len(labels))), 1):
        rest = np.setdiff1d(np.arange(len(labels)), fold)
        fit = _Fit(features[rest], labels[rest], objective, descriptions, None if weights is None else weights[rest])
        # From the largest down; each fit starts at the previous solution.
        for number in np.argsort(penalties)[::-1]:
            found[number, fold] = fit.probe(penalties[number], ROUGH_FACTR).logits(features[fold])
        fold_done(at)
    return found


class _Fit:
    """Fits to the same labels with different penalties; each starts from the previous solution.

    The weights lie in the span of the features, so that few labels need few numbers. Along the singular vectors, scaled
    such that the loss has similar curvature in all directions, the solver takes tens of steps instead of thousands.
    """

    def __init__(
        self,
        features: Floats,
        labels: Ints,
        objective: Objective,
        descriptions: LabelledFeatures | None,
        weights: Floats | None = None,
    ) -> None:
        several = objective.multi_label
        counts = np.ones((len(labels), 1)) if weights is None else weights.astype(np.float64)
        if descriptions is not None:
            weight = MULTI_LABEL_DESCRIPTION_WEIGHT if several else DESCRIPTION_WEIGHT
            features, labels, counts = _with_descriptions(features, labels, descriptions, weight, counts)
        self.classes, self.centre = objective.classes, features.mean(axis=0, dtype=np.float64)
        left, self.sizes, self.axes = np.linalg.svd(features - self.centre, full_matrices=False)
        targets = objective.targets(labels)
        prior = _shared_rate(targets) if several else _one_label_each(self.classes)
        # The priors of all classes lie at one point, the mean of all features.
        self.points = np.vstack([left * self.sizes, np.zeros((len(prior), len(self.sizes)))])
        share = MULTI_LABEL_PRIOR if several else PRIOR
        self.targets = np.vstack([counts * np.nan_to_num(targets), share * prior])
        if several:  # the weight of each decision; unknown ones do not count
            self.loss, self.weights = _binary_loss, np.vstack([counts * ~np.isnan(targets), np.full_like(prior, share)])
        else:  # the weight of each text
            self.loss, self.weights = _multinomial_loss, self.targets.sum(axis=1, keepdims=True)
        self.weight, self.bias = np.zeros((self.classes, len(self.sizes))), np.zeros(self.classes)
        self.flatness = MULTI_LABEL_FLATNESS if several else self.classes

    def probe(self, penalty: float, factr: float = FACTR) -> Probe:
        from scipy.optimize import fmin_l_bfgs_b

        scale = 1.0 / np.sqrt(self.sizes**2 / self.flatness + penalty)
        points, classes = self.points * scale, self.classes

        def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            weight, bias = flat[classes:].reshape(classes, -1), flat[:classes]
            value, error = self.loss(points @ weight.T + bias, self.targets, self.weights)
            value += 0.5 * penalty * ((weight * scale) ** 2).sum()
            slope = error.T @ points + penalty * weight * scale**2
            return float(value), np.concatenate([error.sum(axis=0), slope.ravel()])

        start = np.concatenate([self.bias, (self.weight / scale).ravel()])
        found = fmin_l_bfgs_b(loss, start, factr=factr, pgtol=1e-5, maxiter=MAX_ITERATIONS)[0]
        self.weight, self.bias = found[classes:].reshape(classes, -1) * scale, found[:classes]
        weight = self.weight @ self.axes
        return Probe(weight, self.bias - weight @ self.centre, penalty)


def _with_descriptions(
    features: Floats, labels: Ints, descriptions: LabelledFeatures, weight: float, counts: NDArray[np.float64]
) -> tuple[Floats, Ints, NDArray[np.float64]]:
    """Labelled features followed by those of class descriptions, and how many labels each row counts as.

    >>> described = np.zeros((3, 2)), np.array([0, 0, 1])
    >>> _with_descriptions(np.ones((1, 2)), np.array([1]), described, 16.0, np.ones((1, 1)))[2].ravel().tolist()
    [1.0, 8.0, 8.0, 16.0]
    """
    _, of, per_class = np.unique(descriptions[1], return_inverse=True, return_counts=True)
    added = np.broadcast_to((weight / per_class[of])[:, None], (len(of), counts.shape[1]))
    labels = np.concatenate([labels, descriptions[1]])
    return np.vstack([features, descriptions[0]]), labels, np.concatenate([counts, added])


def _one_label_each(classes: int) -> NDArray[np.float64]:
    """A row for each class; or one row for all of very many classes, which is the same up to rounding."""
    return np.eye(classes) if classes <= MAX_PRIOR_ROWS else np.ones((1, classes))


def _shared_rate(targets: Floats) -> NDArray[np.float64]:
    """A row in which each class is as frequent as classes are on average."""
    known = int((~np.isnan(targets)).sum())
    return np.full((1, targets.shape[1]), (np.nansum(targets) + 1) / (known + 2))


def _multinomial_loss(
    logits: NDArray[np.float64], targets: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """The loss of exactly one class per text, and its gradient with respect to the logits."""
    logs = log_softmax(logits)
    return -(targets * logs).sum(), np.exp(logs) * weights - targets


def _binary_loss(
    logits: NDArray[np.float64], targets: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """The loss of independent decisions, and its gradient with respect to the logits."""
    losses = np.logaddexp(0.0, logits)
    return (weights * losses - targets * logits).sum(), weights * np.exp(logits - losses) - targets
