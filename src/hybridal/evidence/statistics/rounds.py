"""What rounds tell: when runs switched, whether the signal came back, if signals move together, what was acquired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np

from hybridal.core.facts import Round
from hybridal.errors import UserError
from hybridal.evidence.statistics.numbers import Spread, number, numbers
from hybridal.evidence.statistics.ranks import spearman
from hybridal.measures.stabilisation import Stabilisation


def whole(history: Sequence[Round]) -> Sequence[Round]:
    """The history itself; positions are rounds only where none is missing."""
    for place, fact in enumerate(history, start=1):
        if fact.round != place:
            raise UserError(f"Round {place} is missing from a history: round {fact.round} stands in its place.")
    return history


def checked_changes(history: Sequence[Round], signal: str) -> list[float | None]:
    """The changes of one signal, round by round; None where there is none, as in round 1."""
    changes: list[float | None] = []
    for fact in whole(history):
        if signal not in fact.changes:
            known = ", ".join(fact.changes) or "none"
            raise UserError(f"Round {fact.round} did not record the signal '{signal}'; it has {known}.")
        change = fact.changes[signal]
        changes.append(None if change is None else number(change, f"the change of '{signal}' in round {fact.round}"))
    return changes


def spread(values: Sequence[float]) -> Spread:
    """The spread of plain numbers."""
    return Spread(len(values), fmean(values) if values else None, stdev(values) if len(values) > 1 else None)


@dataclass(frozen=True)
class Switching:
    """A schedule's switches over runs. Means are over the runs that fired; None where there is nothing to average.

    `last_round` counts the runs that fired in their last round: they have a t* and yet never fine-tuned. After t*,
    `rounds_after` rounds have a change, `recrossed` of them of ε or more, and `largest_after` is the largest of all.
    """

    t_stars: tuple[int | None, ...]
    fired: int
    fire_rate: float | None
    last_round: int
    mean_t_star: float | None
    sd_t_star: float | None
    rounds_after: int
    recrossed: int
    largest_after: float | None

    @property
    def recrossed_share(self) -> float | None:
        """The share of the rounds after t* whose change was ε or more, all runs' rounds together."""
        return self.recrossed / self.rounds_after if self.rounds_after else None


def switching(histories: Sequence[Sequence[Round]], signal: str, detector: Stabilisation) -> Switching:
    """What the detector of a signal says about runs.

    t* is the same in the schedule's own run and in RETRAIN's. What comes after it is the schedule's doing only in its
    own runs: give those to learn how a signal behaves once fine-tuning has begun.
    """
    t_stars: list[int | None] = []
    after: list[tuple[float, bool]] = []
    for history in histories:
        changes = checked_changes(history, signal)
        t_star = detector.t_star(changes)
        t_stars.append(t_star)
        if t_star is not None:
            later = zip(changes[t_star:], detector.streaks(changes)[t_star:], strict=True)
            # Only the detector compares with ε.
            after += [(change, streak == 0) for change, streak in later if change is not None]
    fired = spread([t_star for t_star in t_stars if t_star is not None])
    return Switching(
        t_stars=tuple(t_stars),
        fired=fired.n,
        fire_rate=fired.n / len(t_stars) if t_stars else None,
        last_round=sum(t_star == len(history) for t_star, history in zip(t_stars, histories, strict=True)),
        mean_t_star=fired.mean,
        sd_t_star=fired.sd,
        rounds_after=len(after),
        recrossed=sum(above for _, above in after),
        largest_after=max((change for change, _ in after), default=None),
    )


@dataclass(frozen=True)
class SignalCorrelation:
    """`rho[i][j]` belongs to signals i and j; None where one of them never changes, or below two observations.

    `n` rounds have a change of every signal; `left_out` have one of some signals only.
    """

    signals: tuple[str, ...]
    rho: tuple[tuple[float | None, ...], ...]
    n: int
    left_out: int

    def between(self, first: str, second: str) -> float | None:
        return self.rho[self.signals.index(first)][self.signals.index(second)]


def signal_correlation(histories: Sequence[Sequence[Round]], signals: Sequence[str]) -> SignalCorrelation:
    """Spearman's ρ of each two signals over all rounds of all runs in which all of them have a change.

    Rounds of one run are no independent draws, so there is no p value here.
    """
    rows: list[tuple[float | None, ...]] = []
    for history in histories:
        rows += zip(*(checked_changes(history, signal) for signal in signals), strict=True)
    full = [row for row in rows if None not in row]
    some = sum(any(change is not None for change in row) for row in rows)
    table = np.array(full, dtype=np.float64).reshape(len(full), len(signals))
    return SignalCorrelation(tuple(signals), spearman(table), len(full), some - len(full))


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
    parts: tuple[list[float], list[float]] = ([], [])
    for values, t_star in zip(runs, t_stars, strict=True):
        for round, value in enumerate(values, start=1):
            if value is not None:
                later = t_star is not None and round > t_star
                parts[later].append(number(value, f"the value of round {round}"))
    return spread(parts[0]), spread(parts[1])
