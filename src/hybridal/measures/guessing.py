"""Whether a model beats guessing, which is to always predict the most frequent class."""

from __future__ import annotations

from hybridal.core.rounds import Metrics
from hybridal.measures.certainty import MIN_TEXTS, known_f1, wilson


def is_guessing(metrics: Metrics) -> bool:
    """Whether a model is not shown to be better than always predicting the most frequent class.

    It is better if the lower bound of its accuracy is above the share of that class or, since a rare class hardly
    affects accuracy, if the lower bound of its macro-F1 is above what guessing can reach: 1 / classes, by predictions
    drawn with the frequencies of the classes.

    Args:
        metrics: The metrics of a model on one split. The result is False for records without texts per class.

    Example:
        >>> is_guessing(Metrics(20, 10, 0.5, 0.33, 0.7, 0.1, 0.5, 0.7, 0.1, support=(10, 10)))
        True
        >>> is_guessing(Metrics(20, 17, 0.85, 0.85, 0.4, 0.1, 0.2, 0.4, 0.1, support=(10, 10)))
        False
    """
    if not metrics.support:
        return False
    share = max(metrics.support) / metrics.n
    if wilson(metrics.right, metrics.n)[0] > share:
        return False
    found = known_f1(metrics)
    return found is None or found.low <= 1 / found.supported


def guessing_in_words(metrics: Metrics, split: str) -> str:
    """Return a sentence that a model is not shown to be better than guessing; "" if it is better.

    Example:
        >>> guessing_in_words(Metrics(20, 10, 0.5, 0.33, 0.7, 0.1, 0.5, 0.7, 0.1, support=(10, 10)), "validation")
        'The model is no better than guessing: it is right on 10 of 20 validation texts, and always answering the most
        frequent class is right on 10.'
    """
    if not is_guessing(metrics):
        return ""
    guessed = max(metrics.support)
    certain = metrics.right <= guessed and metrics.n >= MIN_TEXTS
    claim = "no better than guessing" if certain else "not shown to be better than guessing"
    texts = f"{metrics.n} {split} text{'' if metrics.n == 1 else 's'}"
    return (
        f"The model is {claim}: it is right on {metrics.right} of {texts}, and always answering the most frequent "
        f"class is right on {guessed}."
    )
