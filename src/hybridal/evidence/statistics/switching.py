"""When did runs switch, and did the signal come back?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from hybridal.core.facts import Round
from hybridal.errors import UserError
from hybridal.evidence.statistics.numbers import number
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

    >>> from hybridal.core.facts import Cost
    >>> def run(*changes):
    ...     return [Round(t, "retrain", "R" * t, 0, Cost(), 1, None, None, None, {"accuracy": change}, (), ())
    ...             for t, change in enumerate(changes, start=1)]
    >>> runs = [run(None, 0.01, 0.004, 0.001, 0.02, 0.003), run(None, 0.03)]
    >>> found = switching(runs, "accuracy", Stabilisation(0.005, 2))
    >>> found.t_stars, found.fire_rate, found.mean_t_star, found.recrossed_share, found.largest_after
    ((4, None), 0.5, 4.0, 0.5, 0.02)
    """
    t_stars: list[int | None] = []
    after: list[tuple[float, bool]] = []
    last_round = 0
    for history in histories:
        changes = checked_changes(history, signal)
        t_star = detector.t_star(changes)
        t_stars.append(t_star)
        if t_star is not None:
            last_round += t_star == len(history)
            streaks = detector.streaks(changes)  # only the detector compares with ε
            later = zip(changes[t_star:], streaks[t_star:], strict=True)
            after += [(change, streak == 0) for change, streak in later if change is not None]
    fired = [t_star for t_star in t_stars if t_star is not None]
    return Switching(
        t_stars=tuple(t_stars),
        fired=len(fired),
        fire_rate=len(fired) / len(t_stars) if t_stars else None,
        last_round=last_round,
        mean_t_star=fmean(fired) if fired else None,
        sd_t_star=stdev(fired) if len(fired) > 1 else None,
        rounds_after=len(after),
        recrossed=sum(above for _, above in after),
        largest_after=max((change for change, _ in after), default=None),
    )
