"""Answer the texts that a model is sure of, and ask people about the others, with a guaranteed error.

The promise is "at most 2% of the texts answered without a person are wrong, with 95% confidence". It is tested on
random labels that the model has not learnt (Learn then Test, Angelopoulos et al. 2021): for each of some thresholds of
the confidence an exact binomial test decides whether the texts above it keep the limit. The thresholds are quantiles of
the confidences of *unlabelled* texts, so they do not depend on the labels that test them. They are tested from the
strictest on, and each that passes hands its error probability to the next (the fallback procedure of Wiens 2003). So
all that pass hold together with the stated confidence, and the last of them, which answers most texts, is taken. Most
of the error probability begins at the threshold of which the model's own probabilities expect most; if they are wrong,
fewer texts are answered, and the promise holds all the same.

The promise is about all texts like the random ones: of 100 answered texts, three may be wrong although 2% are in the
long run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import Floats
from hybridal.measures.error_tests import check_share, labels_for, rate_p_value
from hybridal.randomness import stream

Flags = NDArray[np.bool_]

CONFIDENCE = 0.95
THRESHOLDS = 12  # from the strictest, which passes without any error only, to that which answers everything
FAVOURED = 0.9  # of the error probability is for the most promising threshold; chosen in simulations, as is THRESHOLDS
ABUNDANT = 100_000  # labels; a promise that needs more is not to be had by labelling
SIMULATED = 41  # samples of random labels, for a plan
LIKELY = 0.8  # how probable a promise is with the stated number of labels


@dataclass(frozen=True)
class Promise:
    """Which texts a model may answer alone.

    Attributes:
        max_error: The highest share of wrong answers.
        confidence: The probability that the promise is kept.
        threshold: The confidence from which a text is answered; None if nothing can be promised.
        share: The share of texts that are answered.
        labels: How many random labels tested it.
        answered: How many of them are answered.
        wrong: How many of those are wrong.

    Example:
        >>> promise = Promise(0.02, 0.95, 0.875, 0.8, 300, 242, 1)
        >>> promise.answers(np.array([0.9, 0.8])).tolist()
        [True, False]
    """

    max_error: float
    confidence: float
    threshold: float | None
    share: float
    labels: int
    answered: int = 0
    wrong: int = 0

    def answers(self, confidences: Floats) -> Flags:
        """Return which texts are answered without a person, by the confidence of their predictions."""
        if self.threshold is None:
            return np.zeros(len(confidences), dtype=bool)
        found: Flags = np.asarray(confidences) >= self.threshold
        return found


def promise(
    confidences: Floats,
    right: Flags,
    unlabelled: Floats,
    max_error: float,
    confidence: float = CONFIDENCE,
    many_looks: bool = False,
) -> Promise:
    """Find how many texts can be answered with at most this share of errors.

    Args:
        confidences: The confidence of the model's answer to each randomly labelled text that it has not learnt.
        right: Whether each answer is right.
        unlabelled: The confidences of other texts of the same kind, such as a random sample of the pool.
        max_error: The highest share of wrong answers.
        confidence: The probability with which the promise shall hold.
        many_looks: Whether the test is repeated while labels arrive.

    Returns:
        The promise; without a threshold if nothing can be promised.

    Raises:
        UserError: If a share is not between 0 and 1.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> confidences, others = rng.random(400), rng.random(1000)
        >>> found = promise(confidences, confidences > 0.4, others, max_error=0.02)
        >>> found.threshold > 0.4, 0.4 < found.share < 0.6, found.wrong
        (True, True, 0)
    """
    check_share(max_error, "The error limit")
    check_share(confidence, "The confidence")
    nothing = Promise(max_error, confidence, None, 0.0, len(confidences))
    thresholds = candidate_thresholds(unlabelled, len(confidences), max_error, confidence, many_looks)
    if not len(thresholds):
        return nothing
    answered = confidences[:, None] >= thresholds
    counts, wrong = answered.sum(axis=0), (answered & ~right[:, None]).sum(axis=0)
    shares = (unlabelled[:, None] >= thresholds).mean(axis=0)
    weights = _weights(unlabelled, thresholds, shares, len(confidences), max_error, confidence, many_looks)
    passed = fallback(rate_p_value(wrong, counts, max_error, many_looks), weights, 1 - confidence)
    if not passed.any():
        return nothing
    last = int(np.flatnonzero(passed)[-1])
    found = float(thresholds[last]), float(shares[last])
    return Promise(max_error, confidence, *found, len(confidences), int(counts[last]), int(wrong[last]))


def candidate_thresholds(
    unlabelled: Floats, labels: int, max_error: float, confidence: float, many_looks: bool = False
) -> NDArray[np.float64]:
    """Return the thresholds to test, strictest first, without looking at a labelled text.

    The strictest answers as many texts as a test without any error needs, the others ever more, up to all.

    Example:
        >>> candidate_thresholds(np.linspace(0, 1, 1001), 300, 0.05, 0.95).round(2).tolist()[:3]
        [0.76, 0.73, 0.69]
    """
    fewest = labels_for(max_error, favoured_confidence(confidence), many_looks=many_looks)
    if labels < fewest or not len(unlabelled):
        return np.empty(0)
    # The answered ones are a random number: a margin, or the strictest threshold often has too few to pass.
    first = min(1.0, (fewest + 1.5 * math.sqrt(fewest * (1 - fewest / labels))) / labels)
    shares = np.geomspace(first, 1.0, THRESHOLDS if first < 1 else 1)
    found: NDArray[np.float64] = np.quantile(unlabelled, 1 - shares, method="lower").astype(np.float64)
    return np.unique(found)[::-1]


def favoured_confidence(confidence: float) -> float:
    """Return the confidence at which the most promising threshold is tested.

    >>> round(favoured_confidence(0.95), 3)
    0.955
    """
    return 1 - FAVOURED * (1 - confidence)


def pass_chances(
    unlabelled: Floats,
    thresholds: Floats,
    labels: int,
    max_error: float,
    confidence: float,
    many_looks: bool = False,
) -> NDArray[np.float64]:
    """Return how probable it is that each threshold passes its test, if the model's probabilities are right.

    Example:
        >>> sure = np.repeat([0.999, 0.95, 0.5], 100)
        >>> pass_chances(sure, np.array([0.999, 0.95, 0.5]), 600, 0.05, 0.95).round(2).tolist()
        [1.0, 0.77, 0.0]
    """
    from scipy.special import bdtr

    level, found = 1 - favoured_confidence(confidence), np.zeros(len(thresholds))
    for number, threshold in enumerate(thresholds):
        above = unlabelled[unlabelled >= threshold]
        answered = round(labels * len(above) / len(unlabelled))
        errors = np.arange(math.ceil(max_error * answered) + 1)
        allowed = int((rate_p_value(errors, answered, max_error, many_looks) <= level).sum()) - 1
        found[number] = bdtr(allowed, answered, float(np.mean(1 - above))) if allowed >= 0 else 0.0
    return found


def labels_needed(
    unlabelled: Floats, max_error: float, confidence: float = CONFIDENCE, many_looks: bool = False
) -> int | None:
    """Return about how many random labels it takes until something can be promised.

    It trusts the model's own probabilities, so it is a plan and no promise.

    Args:
        unlabelled: The confidences of texts like those of the random labels.
        max_error: The highest share of wrong answers.
        confidence: The probability with which the promise shall hold.
        many_looks: Whether the test is repeated while labels arrive.

    Returns:
        The number of labels with which a promise is likely; None if the model is too unsure for any number of them.

    Raises:
        UserError: If a share is not between 0 and 1.

    Example:
        >>> labels_needed(np.full(100, 1.0), 0.02), labels_needed(np.full(100, 0.9), 0.02)
        (154, None)
    """
    low = labels_for(max_error, favoured_confidence(confidence), many_looks=many_looks)

    def is_likely(labels: int) -> bool:
        thresholds = candidate_thresholds(unlabelled, labels, max_error, confidence, many_looks)
        if not len(thresholds):
            return False
        chances = pass_chances(unlabelled, thresholds, labels, max_error, confidence, many_looks)
        return bool(chances[_favoured(chances, (unlabelled[:, None] >= thresholds).mean(axis=0))] >= LIKELY)

    if not len(unlabelled) or is_likely(low):
        return low if len(unlabelled) else None
    high = 2 * low
    while not is_likely(high):
        low, high = high, 2 * high
        if low > ABUNDANT:
            return None
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if is_likely(middle) else (middle, high)
    return high


def planned_share(
    confidences: Floats,
    right: Flags,
    unlabelled: Floats,
    more: int,
    max_error: float,
    confidence: float = CONFIDENCE,
) -> float:
    """Return about which share of the texts can be answered once there are some more random labels.

    The further labels are simulated by the model's own probabilities, so it is a plan and no promise.

    Args:
        confidences: The confidence of the model's answer to each randomly labelled text that it has not learnt.
        right: Whether each answer is right.
        unlabelled: The confidences of other texts of the same kind.
        more: How many more random labels there will be.
        max_error: The highest share of wrong answers.
        confidence: The probability with which the promise shall hold.

    Returns:
        The share in half of the simulations; 0 if nothing can be promised in most of them.

    Example:
        >>> sure = np.repeat([0.999, 0.5], 500)
        >>> planned_share(sure[::10], sure[::10] > 0.9, sure, 100, 0.02)
        0.0
        >>> planned_share(sure[::4], sure[::4] > 0.9, sure, 200, 0.02)
        0.5
    """
    labels = len(confidences) + more
    thresholds = candidate_thresholds(unlabelled, labels, max_error, confidence)
    if not len(thresholds):
        return 0.0
    shares = (unlabelled[:, None] >= thresholds).mean(axis=0)
    weights = _weights(unlabelled, thresholds, shares, labels, max_error, confidence, many_looks=False)
    rng, found = stream(0, "planned labels"), np.zeros(SIMULATED)
    for number in range(SIMULATED):
        drawn = rng.choice(unlabelled, more)
        answered = np.concatenate([confidences, drawn])[:, None] >= thresholds
        wrong = np.concatenate([~right, rng.random(more) > drawn])
        errors = (answered & wrong[:, None]).sum(axis=0)
        passed = fallback(rate_p_value(errors, answered.sum(axis=0), max_error), weights, 1 - confidence)
        found[number] = shares[passed].max(initial=0.0)
    return float(np.median(found))


def _weights(
    unlabelled: Floats,
    thresholds: Floats,
    shares: NDArray[np.float64],
    labels: int,
    max_error: float,
    confidence: float,
    many_looks: bool,
) -> NDArray[np.float64]:
    """The shares of the error probability with which each threshold is tested."""
    chances = pass_chances(unlabelled, thresholds, labels, max_error, confidence, many_looks)
    weights = np.full(len(thresholds), (1 - FAVOURED) / len(thresholds))
    weights[_favoured(chances, shares)] += FAVOURED
    return weights


def fallback(p_values: Sequence[float] | Floats, weights: Sequence[float] | Floats, level: float) -> Flags:
    """Decide which of several ordered hypotheses are rejected, so that any false rejection has at most this level.

    A hypothesis is tested at its weight of the level, and at all that the one before had if that was rejected.

    Args:
        p_values: One per hypothesis, in an order that does not depend on them.
        weights: Shares of the level; their sum is at most 1.
        level: The highest probability of any false rejection.

    Example:
        >>> fallback([0.01, 0.04, 0.2, 0.004], [0.8, 0.0, 0.1, 0.1], 0.05).tolist()
        [True, True, False, True]
    """
    found, left, rejected = np.zeros(len(p_values), dtype=bool), 0.0, False
    for number, (p, weight) in enumerate(zip(p_values, weights, strict=True)):
        left = weight * level + (left if rejected else 0.0)
        rejected = found[number] = p <= left
    return found


def _favoured(chances: NDArray[np.float64], shares: NDArray[np.float64]) -> int:
    """The threshold that answers most texts in expectation."""
    return int(np.argmax(chances * shares))
