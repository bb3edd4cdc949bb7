"""Do people agree? Krippendorff's α for classes, for any number of people, each of whom may have seen any texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hybridal.app.insight.resampling import Array, interval

Said = tuple[str, str, str]  # text, person, class


@dataclass(frozen=True)
class Agreement:
    """α with its 95% interval over texts, and on how much it rests: `texts` seen by two or more, `pairs` of answers.

    1 is perfect agreement, 0 what chance alone would give. None where it cannot be said; `note` tells why.
    """

    alpha: float | None
    low: float | None
    high: float | None
    texts: int
    pairs: int
    note: str = ""


@dataclass(frozen=True)
class Pair:
    """Two people on the texts that both labelled; `confused` counts their two classes where these differ."""

    one: str
    other: str
    texts: int
    agreed: float
    confused: dict[tuple[str, str], int]


def agreement(answers: Iterable[Said], seed: int = 0) -> Agreement:
    """α of answers given as (text, person, class); the last answer of a person on a text counts.

    >>> said = [("a", "Ann", "bug"), ("a", "Bo", "bug"), ("b", "Ann", "bug"), ("b", "Bo", "idea"),
    ...         ("c", "Ann", "idea"), ("c", "Bo", "idea"), ("d", "Bo", "bug")]
    >>> found = agreement(said)
    >>> round(found.alpha, 3), found.texts, found.pairs
    (0.444, 3, 3)
    """
    return _agreement(tuple(answers), seed)


@lru_cache(maxsize=4)  # the interval takes seconds, and is looked at more often than it changes
def _agreement(answers: tuple[Said, ...], seed: int) -> Agreement:
    counts = _counts(answers)
    given = counts.sum(axis=1)
    texts, pairs = len(counts), int((given * (given - 1) / 2).sum())
    if not texts:
        return Agreement(None, None, None, 0, 0, "no text was labelled by two people")
    alpha = float(_alphas(counts, np.ones((1, texts), dtype=np.int64))[0])
    if np.isnan(alpha):
        return Agreement(None, None, None, texts, pairs, "only one class was ever given, so chance would agree as well")
    low, high = interval(lambda times: _alphas(counts, times), texts, "agreement", seed)
    return Agreement(alpha, low, high, texts, pairs, "too few texts for an interval" if low is None else "")


def pairs_of_people(answers: Iterable[Said]) -> list[Pair]:
    """Every two people who labelled some of the same texts, the least agreeing first.

    >>> pairs_of_people([("a", "Ann", "bug"), ("a", "Bo", "idea"), ("b", "Ann", "bug"), ("b", "Bo", "bug")])
    [Pair(one='Ann', other='Bo', texts=2, agreed=0.5, confused={('bug', 'idea'): 1})]
    """
    seen: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
    for said in _by_text(answers).values():
        for one, other in combinations(sorted(said), 2):
            seen.setdefault((one, other), Counter())[said[one], said[other]] += 1
    found = []
    for (one, other), classes in sorted(seen.items()):
        confused = {both: n for both, n in classes.most_common() if both[0] != both[1]}
        texts = classes.total()
        found.append(Pair(one, other, texts, 1 - sum(confused.values()) / texts, confused))
    return sorted(found, key=lambda pair: pair.agreed)


def _by_text(answers: Iterable[Said]) -> dict[str, dict[str, str]]:
    said: dict[str, dict[str, str]] = {}
    for text, person, name in answers:
        said.setdefault(text, {})[person] = name
    return said


def _counts(answers: Iterable[Said]) -> Array:
    """How often each class was given to each text that two or more people labelled."""
    said = [list(by.values()) for by in _by_text(answers).values() if len(by) > 1]
    columns = {name: at for at, name in enumerate(sorted({name for given in said for name in given}))}
    counts = np.zeros((len(said), len(columns)))
    for row, given in enumerate(said):
        for name in given:
            counts[row, columns[name]] += 1
    return counts


def _alphas(counts: Array, times: NDArray[np.int64]) -> Array:
    """α where each text is taken so many times, a row of `times` for each; NaN where only one class is left.

    Observed disagreement: the share of unequal ordered pairs within texts, a text with m answers weighing m. Expected:
    the same share over all pairs of answers, whatever their text.
    """
    given = counts.sum(axis=1)
    unequal = (given**2 - (counts**2).sum(axis=1)) / (given - 1)
    total = times @ given
    classes = times @ counts
    observed = (times @ unequal) / total
    expected = (total**2 - (classes**2).sum(axis=1)) / (total * (total - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(expected > 0, 1 - observed / expected, np.nan), dtype=np.float64)
