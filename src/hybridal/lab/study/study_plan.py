"""What a study would take, said before anything starts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from hybridal.core.rounds import Round
from hybridal.lab.study.study import CellPlan
from hybridal.lab.study.study_folder import StudyFolder
from hybridal.schedules import make_schedule


@dataclass(frozen=True)
class StudyPlan:
    """How much work a study is. Hybrid schedules decide on the way, so distinct rounds have a least and a most.

    `left` counts the rounds that may still be missing, none where every run is complete. `seconds_per_round` is
    measured on rounds that are recorded already, None before there are any.
    """

    cells: int
    runs: int
    rounds: int
    least: int
    most: int
    done: int
    left: int
    seconds_per_round: float | None

    @property
    def saving(self) -> tuple[float, float]:
        """How many times less work sharing makes it: at least, at most."""
        return self.rounds / self.most, self.rounds / self.least

    @property
    def seconds_left(self) -> float | None:
        """At most, in one process."""
        return None if self.seconds_per_round is None else self.seconds_per_round * self.left


def plan(folder: StudyFolder) -> StudyPlan:
    """Counts the rounds of a study: alone, and shared."""
    facts = [list(folder.facts(cell).values()) for cell in folder.cells]
    recorded = [fact for found in facts for fact in found]
    bounds = [distinct_rounds(cell.schedules, cell.settings.rules.rounds) for cell in folder.cells]
    return StudyPlan(
        cells=len(folder.cells),
        runs=folder.study.runs,
        rounds=sum(cell.runs * cell.settings.rules.rounds for cell in folder.cells),
        least=sum(least for least, _ in bounds),
        most=sum(most for _, most in bounds),
        done=len(recorded),
        # Hybrids that fired together leave a complete cell with fewer rounds than the most.
        left=sum(
            most - len(found)
            for cell, found, (_, most) in zip(folder.cells, facts, bounds, strict=True)
            if not folder.complete(cell)
        ),
        seconds_per_round=mean(map(_seconds, recorded)) if recorded else None,
    )


def distinct_rounds(specs: Sequence[str], rounds: int) -> tuple[int, int]:
    """The least and the most rounds that one cell needs when shared ones are computed once, first rounds that only
    turn out to train alike counted apart.

    At the most every hybrid schedule fires as soon as it can, each in a round of its own. At the least all of them
    fire together, or never, wherever that shares most: what the most patient one may do, the others may do too.

    >>> distinct_rounds(["retrain", "finetune", "fixed:3"], 5)
    (13, 13)
    >>> distinct_rounds(["retrain", "hybrid:accuracy"], 5)  # fires after round 3 at the earliest: rounds 4 and 5
    (5, 7)
    """
    words: set[str] = set()
    earliest: list[int] = []
    for schedule in map(make_schedule, specs):
        switch = schedule.switch_rounds(rounds)
        if switch is None:
            words |= {f"{schedule.spec}/{t}" for t in range(1, rounds + 1)}
        elif len(switch) == 1:
            words |= _switch_at(switch.start, rounds)
        else:
            earliest.append(switch.start)
    if not earliest:
        return len(words), len(words)
    least = min(len(words | _switch_at(first, rounds)) for first in range(max(earliest), rounds + 2))
    return least, _most(words, earliest, rounds)


def _most(words: set[str], earliest: Sequence[int], rounds: int) -> int:
    taken: set[int] = set()
    extra = 0
    for first in sorted(earliest):
        while first in taken and first <= rounds:
            first += 1
        taken.add(first)
        extra += max(0, rounds - first + 1)
    return len(words | _prefixes("R" * rounds)) + extra


def _switch_at(first: int, rounds: int) -> set[str]:
    """The words of a schedule that retrains before round `first` and fine-tunes from it on."""
    retrains = min(first - 1, rounds)
    return _prefixes("R" * retrains + "F" * (rounds - retrains))


def _prefixes(sequence: str) -> set[str]:
    return {sequence[:end] for end in range(1, len(sequence) + 1)}


def _seconds(fact: Round) -> float:
    return sum(fact.seconds.values())


def sharing(folder: StudyFolder, cells: Iterable[CellPlan] | None = None) -> float | None:
    """Rounds of all runs over rounds computed, on what is recorded; None where nothing is."""
    chosen = list(cells if cells is not None else folder.cells)
    alone = sum(len(history) for cell in chosen for history in folder.histories(cell).values())
    computed = sum(len(folder.facts(cell)) for cell in chosen)
    return alone / computed if computed else None
