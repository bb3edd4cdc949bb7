"""Agreement on each class where a text may have several: Krippendorff's α of yes and no, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hybridal.app.insight.annotator_agreement import Array, percentile_interval, resampled
from hybridal.core.outputs import Ints
from hybridal.tasks.answers import Decisions

SetAnswer = frozenset[str] | Decisions
SetRating = tuple[str, str, SetAnswer]  # text, person, classes


@dataclass(frozen=True)
class ClassAgreement:
    """Krippendorff's α of the decisions on one class with its 95% interval; None where it is undefined.

    There is no interval without a disagreement: resampling does not tell how rare a disagreement is. `texts` counts
    the texts on which two or more people decided it, and `given` how often one of them gave it.
    """

    name: str
    alpha: float | None
    low: float | None
    high: float | None
    texts: int
    given: int


def class_agreements(answers: Iterable[SetRating], classes: Sequence[str]) -> tuple[ClassAgreement, ...]:
    """The agreement on each class in ratings (text, person, classes).

    The interval resamples texts, the same for all classes.

    >>> answers = [("a", "Ann", frozenset(["bug"])), ("a", "Bo", Decisions.of({"bug": True})),
    ...            ("b", "Ann", frozenset()), ("b", "Bo", frozenset())]
    >>> class_agreements(answers, ["bug"])
    (ClassAgreement(name='bug', alpha=1.0, low=None, high=None, texts=2, given=2),)
    """
    return _class_agreements(tuple(answers), tuple(classes))


@lru_cache(maxsize=4)  # the intervals take time, and are requested more often than they change
def _class_agreements(answers: tuple[SetRating, ...], classes: tuple[str, ...]) -> tuple[ClassAgreement, ...]:
    yes, no = _counts(answers, classes)
    texts = len(yes)
    values = _alphas(yes, no)
    found = values(np.ones((1, texts), dtype=np.int64))
    draws = resampled(values, texts, "agreement on classes") if texts else found
    per_class = []
    for at, (name, alpha) in enumerate(zip(classes, found[0].tolist(), strict=True)):
        decided, given = int((yes[:, at] + no[:, at] > 0).sum()), int(yes[:, at].sum())
        can_vary = decided > 1 and alpha < 1  # NaN is not below 1
        low, high = percentile_interval(draws[:, at]) if can_vary else (None, None)
        per_class.append(ClassAgreement(name, None if np.isnan(alpha) else alpha, low, high, decided, given))
    return tuple(per_class)


def decision_on(label: SetAnswer, name: str) -> bool | None:
    """Whether a label gives a class; None if it leaves it undecided.

    >>> decision_on(frozenset(["bug"]), "idea"), decision_on(Decisions.of({"bug": True}), "idea")
    (False, None)
    """
    if isinstance(label, frozenset):
        return name in label
    return True if name in label.present else False if name in label.absent else None


def _counts(answers: tuple[SetRating, ...], classes: tuple[str, ...]) -> tuple[Array, Array]:
    """How many people gave, and how many denied, a class (column) to a text (row); 0 if fewer than two decided it."""
    rows = {text: row for row, text in enumerate(dict.fromkeys(text for text, _, _ in answers))}
    columns = {name: at for at, name in enumerate(classes)}
    yes, no = np.zeros((2, len(rows), len(classes)))
    for text, _, label in answers:
        decided = label if isinstance(label, Decisions) else Decisions(label, frozenset(columns.keys() - label))
        for counts, names in ((yes, decided.present), (no, decided.absent)):
            at: Ints = np.array([columns[name] for name in names if name in columns], dtype=np.int64)
            counts[rows[text], at] += 1
    shared = yes + no > 1
    return yes * shared, no * shared


def _alphas(yes: Array, no: Array) -> Callable[[NDArray[np.int64]], Array]:
    """Returns the function of `times`, rows that say how often each text counts, with α of each class in its columns.

    α is NaN where all that counts gives a class, or nothing does.
    """
    per_text = yes + no
    within = 2 * yes * no / np.maximum(per_text - 1, 1)  # ordered pairs that differ; a text with m labels counts m

    def values(times: NDArray[np.int64]) -> Array:
        weights = times.astype(np.float64)
        total, given = weights @ per_text, weights @ yes
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = 2 * given * (total - given) / (total - 1)
            return np.asarray(np.where(expected > 0, 1 - weights @ within / expected, np.nan), dtype=np.float64)

    return values
