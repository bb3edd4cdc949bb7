"""Sets of classes that contain the true ones of a stated share of texts: conformal prediction.

With one label per text, a set holds all classes whose probability is at least a threshold, and always the most probable
one (LAC: the smallest sets on average for their coverage; Sadinle et al. 2019). With several labels per text, a set
holds all classes with at least that probability, and is right if *none* of the text's classes is missing; a text
without any class is always covered.

Sets only grow when the threshold falls. So the threshold can be chosen by an upper bound of the share of random labels
that are missed, and needs no correction for having looked at many thresholds (risk-controlling prediction sets, Bates
et al. 2021). "Sets of 95% with 95% confidence" then holds for all texts like these, not only on average over draws of
the random labels as in plain conformal prediction, which takes 19 labels in place of 59.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats, Ints
from hybridal.measures.error_tests import check_share, labels_for, rate_p_value
from hybridal.measures.selective import CONFIDENCE, Flags


@dataclass(frozen=True)
class SetRule:
    """From which probability a class is in the set of a text.

    Attributes:
        coverage: The share of texts whose true classes are all in their sets.
        confidence: The probability that this holds.
        threshold: The probability from which a class is in; None if the labels are too few for any promise but that
            of all classes.
        labels: How many random labels tested it.
        multi_label: Whether a text may have several classes.

    Example:
        >>> SetRule(0.95, 0.95, 0.3, 100, False).sets(np.array([[0.5, 0.4, 0.1], [0.8, 0.1, 0.1]])).tolist()
        [[True, True, False], [True, False, False]]
    """

    coverage: float
    confidence: float
    threshold: float | None
    labels: int
    multi_label: bool

    def sets(self, probabilities: Floats) -> Flags:
        """Return whether each class is in the set of each text, (N, C)."""
        if self.threshold is None:
            return np.ones(probabilities.shape, dtype=bool)
        found: Flags = probabilities >= self.threshold
        if not self.multi_label:
            found = found | (probabilities == probabilities.max(axis=1, keepdims=True))
        return found


def set_rule(lowest: Floats, coverage: float, confidence: float = CONFIDENCE, multi_label: bool = False) -> SetRule:
    """Find from which probability a class is in the set of a text.

    Args:
        lowest: For each randomly labelled text that the model has not learnt, from `lowest_true`.
        coverage: The share of texts whose true classes shall all be in their sets.
        confidence: The probability with which that shall hold.
        multi_label: Whether a text may have several classes.

    Returns:
        The rule; without a threshold if there are too few labels.

    Raises:
        UserError: If a share is not between 0 and 1.

    Example:
        >>> set_rule(np.linspace(0.01, 1.0, 100), 0.95).threshold  # 1 of 100 may be missed: p = 0.037
        0.02
        >>> set_rule(np.ones(58), 0.95).threshold is None
        True
    """
    check_share(coverage, "The coverage of the sets")
    check_share(confidence, "The confidence")
    ordered, n = np.sort(lowest), len(lowest)
    # With the k-th smallest as threshold, at most k texts are missed.
    p_values = rate_p_value(np.arange(n), np.full(n, n), 1 - coverage)
    allowed = np.flatnonzero(p_values <= 1 - confidence)
    threshold = float(ordered[allowed[-1]]) if len(allowed) else None
    return SetRule(coverage, confidence, threshold, n, multi_label)


def lowest_true(probabilities: Floats, labels: Ints | Floats) -> NDArray[np.float64]:
    """Return the probability of each text's true class; of several, the lowest, and 1 if it has none.

    A text is covered if that is at least the threshold. With one label per text, the most probable class is always in
    the set, so it counts as 1.

    Args:
        probabilities: The model's, (N, C).
        labels: The true class numbers, (N,); or for several labels per text 1, 0 or NaN for each class, (N, C).

    Example:
        >>> probabilities = np.array([[0.5, 0.4, 0.1], [0.7, 0.2, 0.1]])
        >>> lowest_true(probabilities, np.array([1, 0])).tolist()
        [0.4, 1.0]
        >>> lowest_true(probabilities, np.array([[1, 1, 0], [0, 0, 0]])).tolist()
        [0.4, 1.0]
    """
    if labels.ndim == 2:
        of_true: NDArray[np.float64] = np.where(labels == 1, probabilities, 1.0).min(axis=1, initial=1.0)
        return of_true
    true = probabilities[np.arange(len(labels)), labels.astype(np.int64)].astype(np.float64)
    return np.where(true >= probabilities.max(axis=1), 1.0, true)


def labels_for_sets(coverage: float, confidence: float = CONFIDENCE) -> int:
    """Return how many random labels a rule takes at least.

    Example:
        >>> labels_for_sets(0.95), labels_for_sets(0.9)
        (59, 29)
    """
    return labels_for(1 - coverage, confidence)
