"""Decision thresholds for several labels per text, from calibrated probabilities alone.

The loop chooses them after each training, on a random sample of unlabelled texts (`Experiment._thresholds`). With few
labels, thresholds that are tuned on labelled texts overfit. If the probabilities are calibrated, the expected F1 of a
threshold can be computed on unlabelled texts, of which there are many: no label is needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats
from hybridal.core.rules import parse_thresholds

HALF = 0.5
# Chosen on two draws of 100 and 500 random labels of three tasks with a frozen encoder, confirmed on 200 and 1,000.
MAX_RATE, MIN_SHARE = 1.5, 0.05


def choose_thresholds(probabilities: Floats, spec: str = "macro_f1") -> NDArray[np.float64]:
    """Choose a threshold per class that is best in expectation on texts like these.

    A label is given if its probability is at least the threshold. For F1 the optimum is half of the best expected F1
    (Lipton et al. 2014), per class for macro-F1 and over all classes for micro-F1; for costs it follows from their
    ratio alone.

    The optimum for macro-F1 gives a class that the model knows nothing of to every text. So no class is given to more
    than `MAX_RATE` times as many texts as are expected to have it, and no threshold is below `MIN_SHARE` of the one for
    micro-F1.

    Args:
        probabilities: Calibrated probabilities of a random sample of texts, (N, C).
        spec: What they are chosen for; see `parse_thresholds`.

    Returns:
        The thresholds, (C,); 0.5 if there are no texts.

    Example:
        >>> sure = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.1]])
        >>> choose_thresholds(sure).round(2).tolist(), choose_thresholds(sure, "cost:4").round(2).tolist()
        ([0.45, 0.15], [0.2, 0.2])
    """
    name, cost = parse_thresholds(spec)
    texts, classes = probabilities.shape
    if name == "cost":
        return np.full(classes, 1.0 / (1.0 + cost))
    if name == "half" or not texts:
        return np.full(classes, HALF)
    common = best_expected_f1(probabilities.reshape(-1, 1))[0] / 2
    if name == "micro_f1":
        return np.full(classes, common)
    optimum, lowest = best_expected_f1(probabilities) / 2, min_threshold(probabilities)
    found: NDArray[np.float64] = np.maximum(np.maximum(optimum, lowest), MIN_SHARE * common)
    return found


def best_expected_f1(probabilities: Floats) -> NDArray[np.float64]:
    """Return the highest expected F1 that a threshold reaches, for each column.

    The expected F1 of labelling the k texts with the highest probabilities is taken as 2 E[hits] / (k + E[positives]).

    Example:
        >>> best_expected_f1(np.array([[1.0], [0.5], [0.0]])).round(3).tolist()  # k = 1: 2 * 1 / (1 + 1.5)
        [0.857]
    """
    ranked = _ranked(probabilities)
    hits, taken = np.cumsum(ranked, axis=0), np.arange(1, len(ranked) + 1)[:, None]
    found: NDArray[np.float64] = (2 * hits / (taken + hits[-1])).max(axis=0)
    return found


def min_threshold(probabilities: Floats) -> NDArray[np.float64]:
    """Return the lowest threshold that gives each class to at most `MAX_RATE` times as many texts as expected.

    At least one text may get each class.

    Example:
        >>> min_threshold(np.array([[0.3], [0.2], [0.1], [0.1]])).round(3).tolist()  # 0.7 are expected: two may get it
        [0.15]
    """
    ranked = _ranked(probabilities)
    most = np.ceil(MAX_RATE * ranked.sum(axis=0)).astype(np.int64).clip(1, len(ranked))
    below = np.vstack([ranked, np.zeros((1, ranked.shape[1]))])
    columns = np.arange(ranked.shape[1])
    found: NDArray[np.float64] = (ranked[most - 1, columns] + below[most, columns]) / 2
    return found


def _ranked(probabilities: Floats) -> NDArray[np.float64]:
    return np.sort(probabilities.astype(np.float64), axis=0)[::-1]
