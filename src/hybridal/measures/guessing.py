"""Whether a model beats guessing, which is to always predict the most frequent class, or the same set of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybridal.core.rounds import Metrics, MultiLabelMetrics
from hybridal.measures.certainty import MIN_TEXTS, interval, known, known_f1, wilson
from hybridal.sentences import Sentence, translatable_plural


def is_guessing(metrics: Metrics) -> bool:
    """Whether a model is not shown to be better than always predicting the most frequent class.

    It is better if the lower bound of its accuracy is above the share of that class or, since a rare class hardly
    affects accuracy, if the lower bound of its macro-F1 is above what guessing can reach: 1 / classes, by predictions
    drawn with the frequencies of the classes. With several labels per text it is better if the lower bound of its
    macro-F1 or micro-F1 is above the best that giving every text the same classes reaches.

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
    if isinstance(metrics, MultiLabelMetrics):
        bounds = interval(metrics, "f1"), interval(metrics, "micro_f1")
        return not any(found and found[0] > best for found, best in zip(bounds, constant_f1(metrics), strict=True))
    share = max(metrics.support) / metrics.n
    if wilson(metrics.right, metrics.n)[0] > share:
        return False
    found = known_f1(metrics)
    return found is None or found.low <= 1 / found.supported


def guessing_in_words(metrics: Metrics, split: str) -> str:
    """Return a sentence that a model is not shown to be better than guessing; "" if it is better.

    Args:
        metrics: The metrics of a model on one split.
        split: The name of the split. The sentence on "validation" is a `Sentence`, since the app shows it.

    Example:
        >>> guessing_in_words(Metrics(20, 10, 0.5, 0.33, 0.7, 0.1, 0.5, 0.7, 0.1, support=(10, 10)), "validation")
        'The model is no better than guessing: it is right on 10 of 20 validation texts, and always answering the most
        frequent class is right on 10.'
    """
    if not is_guessing(metrics):
        return ""
    found = _compared(metrics)
    return found if split == "validation" else found.replace(" validation text", f" {split} text")


def _compared(metrics: Metrics) -> Sentence:
    if isinstance(metrics, MultiLabelMetrics):
        return _compared_with_constant(metrics)
    guessed = max(metrics.support)
    certain = metrics.right <= guessed and metrics.n >= MIN_TEXTS
    values: dict[str, Any] = {"right": metrics.right, "guessed": guessed, "texts": metrics.n}
    return Sentence.sequence(_claim(certain), Sentence.plural(*_ACCURACIES, metrics.n, **values))


def constant_f1(metrics: MultiLabelMetrics) -> tuple[float, float]:
    """Return the best macro-F1 and the best micro-F1 of giving every text the same classes.

    For macro-F1, these are all classes. For micro-F1, they are the most frequent ones, as many as are best.

    Example:
        >>> found = MultiLabelMetrics(10, 0, 0.0, 0.0, 0.7, 0.1, 0.5, 0.7, 0.1, support=(8, 2))
        >>> tuple(round(score, 3) for score in constant_f1(found))  # (16/18 + 4/12) / 2, and 16 / (10 + 10)
        (0.611, 0.8)
    """
    counts = np.sort(np.array(metrics.support))[::-1]
    present, given = counts[counts > 0], metrics.n * np.arange(1, len(counts) + 1)
    if not len(present):
        return 0.0, 0.0
    macro, micro = 2 * present / (metrics.n + present), 2 * counts.cumsum() / (given + counts.sum())
    return float(macro.mean()), float(micro.max())


def _compared_with_constant(metrics: MultiLabelMetrics) -> Sentence:
    scores = zip(("macro-F1", "micro-F1"), ("f1", "micro_f1"), constant_f1(metrics), strict=True)
    told = [(title, found, best) for title, name, best in scores if (found := known(metrics, name)) is not None]
    claim = _claim(bool(told) and all(found <= best for _, found, best in told))
    if not told:
        return Sentence.sequence(claim, Sentence.plural(*_TOO_FEW, metrics.n, texts=metrics.n))
    values: dict[str, Any] = {"texts": metrics.n}
    for at, (title, found, best) in enumerate(told):
        values |= {f"metric_{at}": title, f"score_{at}": f"{found:.2f}", f"best_{at}": f"{best:.2f}"}
    return Sentence.sequence(claim, Sentence.plural(*(_ONE_SCORE, _TWO_SCORES)[len(told) - 1], metrics.n, **values))


def _claim(certain: bool) -> Sentence:
    if certain:
        return Sentence("The model is no better than guessing:")
    return Sentence("The model is not shown to be better than guessing:")


# `texts` is written without a separator of thousands, as the other counts of these sentences are.
_ACCURACIES = translatable_plural(
    "it is right on {right} of {texts} validation text, and always answering the most frequent class is right on "
    "{guessed}.",
    "it is right on {right} of {texts} validation texts, and always answering the most frequent class is right on "
    "{guessed}.",
)
_TOO_FEW = translatable_plural(
    "{texts} validation text is too few to tell.", "{texts} validation texts are too few to tell."
)
_ONE_SCORE = translatable_plural(
    "on {texts} validation text it has {metric_0} {score_0}, and always giving the same classes reaches {best_0}.",
    "on {texts} validation texts it has {metric_0} {score_0}, and always giving the same classes reaches {best_0}.",
)
_TWO_SCORES = translatable_plural(
    "on {texts} validation text it has {metric_0} {score_0} and {metric_1} {score_1}, and always giving the same "
    "classes reaches {best_0} and {best_1}.",
    "on {texts} validation texts it has {metric_0} {score_0} and {metric_1} {score_1}, and always giving the same "
    "classes reaches {best_0} and {best_1}.",
)
