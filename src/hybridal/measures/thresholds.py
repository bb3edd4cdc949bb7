"""Decision thresholds for several labels per text, from calibrated probabilities alone.

With few labels, thresholds that are tuned on labelled texts overfit. If the probabilities are calibrated, the expected
F1 of a threshold can be computed on unlabelled texts, of which there are many: no label is needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats
from hybridal.core.rules import parse_thresholds

HALF = 0.5


def choose_thresholds(probabilities: Floats, spec: str = "macro_f1") -> NDArray[np.float64]:
    """Choose a threshold per class that is best in expectation on texts like these.

    A label is given if its probability is at least the threshold. For F1 the optimum is half of the best expected F1
    (Lipton et al. 2014), per class for macro-F1 and over all classes for micro-F1; for costs it follows from their
    ratio alone.

    Args:
        probabilities: Calibrated probabilities of a random sample of texts, (N, C).
        spec: What they are chosen for; see `parse_thresholds`.

    Returns:
        The thresholds, (C,); 0.5 if there are no texts.

    Example:
        >>> sure = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.1]])
        >>> choose_thresholds(sure).round(2).tolist(), choose_thresholds(sure, "cost:4").round(2).tolist()
        ([0.45, 0.14], [0.2, 0.2])
    """
    name, cost = parse_thresholds(spec)
    texts, classes = probabilities.shape
    if name == "cost":
        return np.full(classes, 1.0 / (1.0 + cost))
    if name == "half" or not texts:
        return np.full(classes, HALF)
    if name == "micro_f1":
        return np.full(classes, best_expected_f1(probabilities.reshape(-1, 1))[0] / 2)
    return best_expected_f1(probabilities) / 2


def best_expected_f1(probabilities: Floats) -> NDArray[np.float64]:
    """Return the highest expected F1 that a threshold reaches, for each column.

    The expected F1 of labelling the k texts with the highest probabilities is taken as 2 E[hits] / (k + E[positives]).

    Example:
        >>> best_expected_f1(np.array([[1.0], [0.5], [0.0]])).round(3).tolist()  # k = 1: 2 * 1 / (1 + 1.5)
        [0.857]
    """
    ranked = np.sort(probabilities.astype(np.float64), axis=0)[::-1]
    hits, taken = np.cumsum(ranked, axis=0), np.arange(1, len(ranked) + 1)[:, None]
    found: NDArray[np.float64] = (2 * hits / (taken + hits[-1])).max(axis=0)
    return found
