"""What did runs acquire? Overlap of batches, balance of classes, and how both changed at the switch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from hybridal.core.facts import Round
from hybridal.errors import UserError
from hybridal.evidence.statistics._numbers import Numbers, number, numbers
from hybridal.evidence.statistics._rounds import whole


@dataclass(frozen=True)
class ClassBalance:
    """The classes of some acquired texts. All is None where nothing was acquired.

    `entropy` is in nats, `evenness` the same over its highest (None for one class), `largest` the largest share, and
    `distance` the total variation from the pool: the share of texts that would have to be of another class.
    """

    n: int
    shares: tuple[float, ...] | None
    entropy: float | None
    evenness: float | None
    largest: float | None
    distance: float | None


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (ddof = 1) of n numbers; None below one and below two."""

    n: int
    mean: float | None
    sd: float | None


def jaccard(first: Iterable[str], second: Iterable[str]) -> float | None:
    """How much of both sets together lies in both; None where both are empty.

    >>> jaccard(["a", "b", "c"], ["b", "c", "d"]), jaccard([], [])
    (0.5, None)
    """
    one, other = set(first), set(second)
    return len(one & other) / len(one | other) if one | other else None


def batch_overlaps(first: Sequence[Round], second: Sequence[Round]) -> tuple[float | None, ...]:
    """Round by round, the Jaccard overlap of what two runs acquired, for as many rounds as both have."""
    pairs = zip(whole(first), whole(second), strict=False)
    return tuple(jaccard(one.acquired, other.acquired) for one, other in pairs)


def mean_scores(history: Sequence[Round]) -> tuple[float | None, ...]:
    """Round by round, the mean score of the acquired batch: its mean entropy, where entropy was what acquired it."""
    scores = [numbers(fact.scores, f"the scores of round {fact.round}") for fact in whole(history)]
    return tuple(float(values.mean()) if values.size else None for values in scores)


def class_balance(
    ids: Sequence[str], labels: Mapping[str, str], classes: Sequence[str], pool: Numbers | None = None
) -> ClassBalance:
    """The class balance of these ids; `pool` has the pool's count or share of each class, in the order of `classes`.

    >>> found = class_balance(["a", "b", "c", "d"], {"a": "x", "b": "x", "c": "x", "d": "y"}, ["x", "y"], pool=[50, 50])
    >>> found.shares, round(found.entropy, 4), round(found.evenness, 4), found.largest, found.distance
    ((0.75, 0.25), 0.5623, 0.8113, 0.75, 0.25)
    """
    counts = Counter(_label(id, labels, classes) for id in ids)
    usual = None if pool is None else _shares(pool, classes)
    if not ids:
        return ClassBalance(0, None, None, None, None, None)
    shares = tuple(counts[name] / len(ids) for name in classes)
    entropy = sum(-share * math.log(share) for share in shares if share > 0)
    return ClassBalance(
        n=len(ids),
        shares=shares,
        entropy=entropy,
        evenness=entropy / math.log(len(classes)) if len(classes) > 1 else None,
        largest=max(shares),
        distance=None if usual is None else sum(abs(a - b) for a, b in zip(shares, usual, strict=True)) / 2,
    )


def before_after(runs: Sequence[Sequence[float | None]], t_stars: Sequence[int | None]) -> tuple[Spread, Spread]:
    """Values by round, pooled over runs: those up to each run's t* and those after it; None values are left out.

    The batch of round t* was still chosen by a retrained model. In a run that never fired, all comes before.

    >>> before_after([[1.0, 1.0, 0.25, None], [1.0, 0.5, 0.25, None]], [2, 1])
    (Spread(n=3, mean=1.0, sd=0.0), Spread(n=3, mean=0.3333333333333333, sd=0.14433756729740643))
    """
    if len(runs) != len(t_stars):
        raise UserError(f"There are {len(runs)} runs and {len(t_stars)} switch rounds; every run needs one, or None.")
    before: list[float] = []
    after: list[float] = []
    for values, t_star in zip(runs, t_stars, strict=True):
        for round, value in enumerate(values, start=1):
            if value is not None:
                part = before if t_star is None or round <= t_star else after
                part.append(number(value, f"the value of round {round}"))
    return _spread(before), _spread(after)


def _spread(values: Sequence[float]) -> Spread:
    return Spread(len(values), fmean(values) if values else None, stdev(values) if len(values) > 1 else None)


def _label(id: str, labels: Mapping[str, str], classes: Sequence[str]) -> str:
    if id not in labels:
        raise UserError(f"The label of '{id}' is not known.")
    if labels[id] not in classes:
        raise UserError(f"'{id}' has the label '{labels[id]}', which is none of the classes {', '.join(classes)}.")
    return labels[id]


def _shares(pool: Numbers, classes: Sequence[str]) -> list[float]:
    counts = numbers(pool, "the pool's classes")
    if counts.size != len(classes) or counts.min(initial=0) < 0 or not counts.sum() > 0:
        raise UserError(f"The pool needs a count for each of the {len(classes)} classes, not {counts.tolist()}.")
    return [float(count) for count in counts / counts.sum()]
