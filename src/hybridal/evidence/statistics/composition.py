"""What did runs acquire? Overlap of batches, shares of classes, and how both changed at the switch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from hybridal.core.facts import Round
from hybridal.errors import UserError
from hybridal.evidence.statistics.numbers import number, numbers
from hybridal.evidence.statistics.switching import whole


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


def class_shares(ids: Sequence[str], labels: Mapping[str, str], classes: Sequence[str]) -> tuple[float, ...] | None:
    """The share of each class among these ids; None where there are none.

    >>> class_shares(["a", "b", "c", "d"], {"a": "x", "b": "x", "c": "x", "d": "y"}, ["x", "y"])
    (0.75, 0.25)
    """
    for id in ids:
        if id not in labels:
            raise UserError(f"The label of '{id}' is not known.")
        if labels[id] not in classes:
            raise UserError(f"'{id}' has the label '{labels[id]}', which is none of the classes {', '.join(classes)}.")
    counts = Counter(labels[id] for id in ids)
    return tuple(counts[name] / len(ids) for name in classes) if ids else None


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
