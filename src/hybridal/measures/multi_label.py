"""Probabilities, calibration and metrics of a classifier that may give a text several labels.

A decision is one class of one text. Targets are 1, 0, or NaN where a decision is unknown; unknown decisions are left
out of every figure.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats
from hybridal.errors import UserError
from hybridal.measures.calibration import BINS

Indicators = NDArray[np.bool_]
"""Whether each text is given each class, (N, C)."""


def sigmoid(logits: Floats, temperature: float = 1.0) -> NDArray[np.float64]:
    """The probability of each class of each text.

    >>> sigmoid(np.array([[0.0, 2.0]])).round(3).tolist()
    [[0.5, 0.881]]
    """
    return np.exp(-np.logaddexp(0.0, -logits.astype(np.float64) / temperature))


def decision_nll(logits: Floats, targets: Floats, temperature: float = 1.0) -> float:
    """The negative log-likelihood in nats, as the mean over known decisions.

    >>> round(decision_nll(np.array([[0.0, 2.0]]), np.array([[1.0, np.nan]])), 4)
    0.6931
    """
    losses = _losses(logits, targets, temperature)
    _check_not_empty(losses)
    return float(losses.mean())


def total_nll(logits: Floats, targets: Floats, temperature: float = 1.0) -> float:
    """The negative log-likelihood in nats, summed over all known decisions.

    >>> round(total_nll(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]])), 4)
    1.3863
    """
    return float(_losses(logits, targets, temperature).sum())


def text_nll(logits: Floats, targets: Floats) -> NDArray[np.float64]:
    """The negative log-likelihood of each text in nats, summed over its known decisions.

    >>> text_nll(np.array([[0.0, 0.0], [0.0, 2.0]]), np.array([[1.0, 0.0], [1.0, np.nan]])).round(4).tolist()
    [1.3863, 0.6931]
    """
    check_pairs(logits, targets)
    losses = np.logaddexp(0.0, logits) - np.nan_to_num(targets) * logits
    found: NDArray[np.float64] = np.where(np.isnan(targets), 0.0, losses).sum(axis=1)
    return found


def _losses(logits: Floats, targets: Floats, temperature: float) -> NDArray[np.float64]:
    check_pairs(logits, targets)
    known = ~np.isnan(targets)
    scaled = logits[known].astype(np.float64) / temperature
    found: NDArray[np.float64] = np.logaddexp(0.0, scaled) - targets[known] * scaled
    return found


def decision_ece(probabilities: Floats, targets: Floats, bins: int = BINS) -> float:
    """The expected calibration error over decisions: predicted against observed frequency, in bins of equal width.

    >>> round(decision_ece(np.array([[0.8, 0.1]]), np.array([[1.0, 0.0]])), 3)  # (|1 - 0.8| + |0 - 0.1|) / 2
    0.15
    """
    check_pairs(probabilities, targets)
    known = ~np.isnan(targets)
    believed, true = probabilities[known].astype(np.float64), targets[known]
    _check_not_empty(true)
    edges = np.linspace(0.0, 1.0, bins + 1)
    where = np.clip(np.searchsorted(edges, believed, side="left") - 1, 0, bins - 1)
    gaps = np.bincount(where, weights=true - believed, minlength=bins)
    return float(np.abs(gaps).sum() / len(true))


def decision_brier(probabilities: Floats, targets: Floats) -> float:
    """The Brier score: the mean squared error over known decisions, from 0 to 1.

    >>> decision_brier(np.array([[0.5, 1.0]]), np.array([[1.0, 1.0]]))
    0.125
    """
    check_pairs(probabilities, targets)
    known = ~np.isnan(targets)
    _check_not_empty(targets[known])
    return float(((probabilities[known] - targets[known]) ** 2).mean())


def f1_scores(decisions: Indicators, targets: Floats) -> tuple[float, float]:
    """Macro-F1 over the classes that occur among the targets, and micro-F1 over all decisions.

    Args:
        decisions: Which classes each text was given.
        targets: Which it has.

    Returns:
        Both scores; a score without any positive is 0.

    Example:
        >>> given = np.array([[True, False], [True, False]])
        >>> f1_scores(given, np.array([[1.0, 0.0], [0.0, 1.0]]))
        (0.3333333333333333, 0.5)
    """
    known = ~np.isnan(targets)
    true, given = known & (targets > 0), known & decisions
    hits, support, either = (true & given).sum(axis=0), true.sum(axis=0), true.sum(axis=0) + given.sum(axis=0)
    present = support > 0
    macro = float((2 * hits[present] / either[present]).mean()) if present.any() else 0.0
    return macro, float(2 * hits.sum() / max(1, either.sum()))


def given_and_hits(decisions: Indicators, targets: Floats) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many texts are given each class, and how many rightly; unknown decisions are not counted.

    >>> given_and_hits(np.array([[True, False], [True, True]]), np.array([[1.0, 0.0], [0.0, np.nan]]))
    ((2, 0), (1, 0))
    """
    given = ~np.isnan(targets) & decisions
    return tuple(given.sum(axis=0).tolist()), tuple((given & (targets > 0)).sum(axis=0).tolist())


def hamming_loss(decisions: Indicators, targets: Floats) -> float:
    """The share of known decisions that are wrong.

    >>> hamming_loss(np.array([[True, False]]), np.array([[1.0, 1.0]]))
    0.5
    """
    known = ~np.isnan(targets)
    _check_not_empty(targets[known])
    return float((decisions[known] != (targets[known] > 0)).mean())


def exact_matches(decisions: Indicators, targets: Floats) -> int:
    """How many texts have every known decision right.

    >>> exact_matches(np.array([[True, False], [True, True]]), np.array([[1.0, 0.0], [1.0, 0.0]]))
    1
    """
    known = ~np.isnan(targets)
    return int((~known | (decisions == (targets > 0))).all(axis=1).sum())


def label_ranking_precision(probabilities: Floats, targets: Floats) -> float:
    """Label ranking average precision (LRAP): how high each text's own classes rank among all, from 0 to 1.

    Texts without any class, or with all classes, count as 1, as in scikit-learn; unknown decisions are not ranked.

    >>> label_ranking_precision(np.array([[0.9, 0.5, 0.1]]), np.array([[0.0, 1.0, 1.0]]))
    0.5833333333333333
    """
    check_pairs(probabilities, targets)
    precisions = []
    for believed, true in zip(probabilities, targets, strict=True):
        known = ~np.isnan(true)
        own, scores = true[known] > 0, believed[known]
        if not own.any() or own.all():
            precisions.append(1.0)
            continue
        above = (scores[None, :] >= scores[own, None]).astype(np.float64)
        precisions.append(float((above[:, own].sum(axis=1) / above.sum(axis=1)).mean()))
    return float(np.mean(precisions))


def check_pairs(rows: Floats, targets: Floats) -> None:
    """Raise UserError unless there is at least one row, and targets for each row and class."""
    if rows.shape != targets.shape:
        raise UserError(f"There are targets of shape {targets.shape} for outputs of shape {rows.shape}; give as many.")
    if not len(rows):
        raise UserError("There are no labelled examples to measure on; give the split at least one.")


def _check_not_empty(values: Floats) -> None:
    if not len(values):
        raise UserError("There are no known decisions to measure on; label a text completely.")
