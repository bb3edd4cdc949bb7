"""Which metrics can be estimated from a number of labelled texts, and their confidence intervals.

Metrics for which there are too few texts are not shown; `docs/explanation/certainty.md` has the rules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from hybridal.core.rounds import Metrics, MultiLabelMetrics

Z = 1.959963984540054  # 95% of a normal distribution lie within this many standard deviations
MIN_TEXTS, TEXTS_PER_CLASS = 20, 2  # for macro-F1: in total, and on average per class of the task
MIN_FOR_ECE = 100  # with fewer texts, the expected calibration error is mostly noise
TOO_FEW = "too few labels to tell"


@dataclass(frozen=True)
class MacroF1:
    """A macro-F1 with its 95% interval; `supported` of the task's `classes` have texts."""

    value: float
    low: float
    high: float
    supported: int
    classes: int


def wilson(right: float, n: float) -> tuple[float, float]:
    """The Wilson 95% interval of a proportion, which holds for small samples and for proportions of 0 and 1.

    Args:
        right: How many predictions are right.
        n: How many predictions there are.

    Returns:
        The lower and the upper bound; 0 and 1 if there are no predictions.

    Example:
        >>> tuple(round(bound, 3) for bound in wilson(18, 20)), tuple(round(bound, 3) for bound in wilson(20, 20))
        ((0.699, 0.972), (0.839, 1.0))
    """
    if not n:
        return 0.0, 1.0
    share, weight = right / n, Z * Z / n
    middle = (share + weight / 2) / (1 + weight)
    reach = math.sqrt(max(0.0, share * (1 - share)) * weight + weight * weight / 4) / (1 + weight)
    # The formula gives exactly 0 and 1 at the ends, up to rounding.
    return (0.0 if right == 0 else middle - reach), (1.0 if right == n else middle + reach)


def known_f1(metrics: Metrics) -> MacroF1 | None:
    """Return the macro-F1 with its interval, if there are enough texts.

    It needs 20 texts, two texts per class of the task on average, and texts of more than half of the classes. A text
    with several classes counts for each of them, and one without any for none. The interval is Wilson's for the
    effective number of texts: in a mean over classes, the classes with the fewest texts contribute most of the
    uncertainty. It is at most the number of texts, since several classes of one text are not independent.

    Args:
        metrics: The metrics of a model on one split.

    Returns:
        The value with its interval; None if there are too few texts, or if an older record lacks the texts per class.

    Example:
        >>> few = Metrics(24, 18, 0.75, 0.73, 0.8, 0.2, 0.4, 0.7, 0.1, support=(1,) * 24 + (0,) * 40)
        >>> known_f1(few) is None
        True
        >>> found = known_f1(Metrics(40, 36, 0.9, 0.85, 0.4, 0.1, 0.2, 0.35, 0.05, support=(30, 10)))
        >>> round(found.low, 2), round(found.high, 2), found.supported, found.classes
        (0.68, 0.94, 2, 2)
    """
    present, classes = [texts for texts in metrics.support if texts], len(metrics.support)
    few = metrics.n < MIN_TEXTS or sum(present) < TEXTS_PER_CLASS * classes
    if few or 2 * len(present) <= classes:
        return None
    # Half a text less, because a class with a single text is less than half as certain as one with two.
    texts = min(metrics.n, len(present) ** 2 / sum(1 / (texts - 0.5) for texts in present))
    low, high = wilson(metrics.f1 * texts, texts)
    return MacroF1(metrics.f1, min(low, metrics.f1), max(high, metrics.f1), len(present), classes)


def interval(metrics: Metrics, name: str) -> tuple[float, float] | None:
    """Return the 95% interval of one metric by its name in `Metrics`; None if it has none or cannot be estimated.

    That of micro-F1 is Wilson's for the texts, or for the texts' classes if there are fewer of those: several classes
    of one text are not independent.

    Example:
        >>> few = Metrics(8, 8, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.1, support=(8, 0))
        >>> interval(few, "accuracy") == wilson(8, 8), interval(few, "f1")
        (True, None)
    """
    if name == "accuracy":
        return wilson(metrics.right, metrics.n)
    if name == "f1":
        found = known_f1(metrics)
        return (found.low, found.high) if found else None
    if name == "micro_f1" and isinstance(metrics, MultiLabelMetrics):
        texts, positives = metrics.n, sum(metrics.support)
        if texts < MIN_TEXTS or not positives:
            return None
        counted = min(texts, positives)
        return wilson(metrics.micro_f1 * counted, counted)
    return None


def known(metrics: Metrics, name: str) -> float | None:
    """Return one metric by its name in `Metrics`; None if there are too few texts to estimate it.

    Example:
        >>> few = Metrics(8, 8, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.1, support=(8, 0))
        >>> known(few, "accuracy"), known(few, "f1"), known(few, "ece")
        (1.0, None, None)
    """
    if name in ("f1", "micro_f1") and interval(metrics, name) is None:
        return None
    if name in ("ece", "ece_scaled") and metrics.n < MIN_FOR_ECE:
        return None
    value: float = getattr(metrics, name)
    return value


def shown(metrics: Metrics) -> dict[str, Any]:
    """Return all metrics of a split by their names in JSON, for programs and tables; None for unknown ones.

    Counts per class are left out.

    Example:
        >>> few = shown(Metrics(8, 8, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.1, support=(8, 0)))
        >>> few["accuracy"], round(few["accuracy_low"], 2), few["f1"], few["f1_low"]
        (1.0, 0.68, None, None)
    """
    called = {part.name: metrics.json_names.get(part.name, part.name) for part in fields(metrics)}
    found = {called[name]: known(metrics, name) for name in called if name not in ("support", "given", "hits")}
    for name in ("accuracy", "f1", "micro_f1"):
        if name in called:
            low, high = interval(metrics, name) or (None, None)
            found |= {f"{called[name]}_low": low, f"{called[name]}_high": high}
    f1 = known_f1(metrics)
    return found | {f"{called['f1']}_classes": f1.supported if f1 else None}


def accuracy_in_words(metrics: Metrics) -> str:
    """Describe the accuracy with its interval; with several labels per text, the share of exact matches.

    Example:
        >>> accuracy_in_words(Metrics(8, 8, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.1))
        'accuracy 1.000 (0.676 to 1.000)'
    """
    low, high = wilson(metrics.right, metrics.n)
    return f"{metrics.accuracy_name} {metrics.accuracy:.3f} ({low:.3f} to {high:.3f})"


def score_in_words(metrics: Metrics) -> str:
    """Describe the main score of a model: macro-F1, or accuracy if macro-F1 cannot be estimated.

    Example:
        >>> score_in_words(Metrics(8, 8, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.1, support=(8, 0)))
        'accuracy 1.000 (0.676 to 1.000) on 8 texts'
    """
    if known_f1(metrics):
        return f1_in_words(metrics)
    return f"{accuracy_in_words(metrics)} on {metrics.n} text{'' if metrics.n == 1 else 's'}"


def figures_in_words(metrics: Metrics) -> list[str]:
    """Describe the scores of the predictions, each with its interval if it has one.

    Example:
        >>> figures_in_words(Metrics(8, 8, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.1, support=(8, 0)))
        ['accuracy 1.000 (0.676 to 1.000)', 'macro-F1: too few labels to tell']
    """
    accuracy, f1 = accuracy_in_words(metrics), f1_in_words(metrics)
    if not isinstance(metrics, MultiLabelMetrics):
        return [accuracy, f1]
    ranking, wrong = f"LRAP {metrics.lrap:.3f}", f"Hamming loss {metrics.hamming:.3f}"
    return [f1, micro_f1_in_words(metrics), ranking, accuracy, wrong]


def micro_f1_in_words(metrics: MultiLabelMetrics) -> str:
    """Describe the micro-F1 with its interval, or that it cannot be estimated.

    Example:
        >>> few = MultiLabelMetrics(8, 8, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.1, support=(8, 0), micro_f1=1.0)
        >>> micro_f1_in_words(few)
        'micro-F1: too few labels to tell'
    """
    found = interval(metrics, "micro_f1")
    if found is None:
        return f"micro-F1: {TOO_FEW}"
    return f"micro-F1 {metrics.micro_f1:.3f} ({found[0]:.3f} to {found[1]:.3f})"


def f1_in_words(metrics: Metrics) -> str:
    """Describe the macro-F1 with its interval, or that it cannot be estimated.

    Example:
        >>> f1_in_words(Metrics(40, 36, 0.9, 0.85, 0.4, 0.1, 0.2, 0.35, 0.05, support=(30, 10)))
        'macro-F1 0.850 (0.679 to 0.938)'
        >>> f1_in_words(Metrics(8, 8, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.1, support=(8, 0)))
        'macro-F1: too few labels to tell'
    """
    found = known_f1(metrics)
    if found is None:
        return f"macro-F1: {TOO_FEW}" if metrics.support else "macro-F1: not known (its record lacks the class counts)"
    over = "" if found.supported == found.classes else f" over {found.supported} of {found.classes} classes"
    return f"macro-F1 {found.value:.3f} ({found.low:.3f} to {found.high:.3f}){over}"
