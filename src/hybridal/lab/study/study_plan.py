"""Estimate the work of a study before it starts."""

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
    """The work of a study. Hybrid schedules decide during the run, so the number of distinct rounds is a range.

    Attributes:
        cells: Number of cells.
        runs: Number of runs.
        rounds: Rounds of all runs, without sharing.
        least: Fewest distinct rounds.
        most: Most distinct rounds.
        done: Rounds recorded so far.
        left: Most rounds that can still be missing; 0 if every run is complete.
        seconds_per_round: Mean of the recorded rounds; None if there are none.
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
        """By which factor sharing reduces the work: at least, at most."""
        return self.rounds / self.most, self.rounds / self.least

    @property
    def seconds_left(self) -> float | None:
        """Upper bound for one process."""
        return None if self.seconds_per_round is None else self.seconds_per_round * self.left


def plan(folder: StudyFolder) -> StudyPlan:
    """Count the rounds of a study, with and without sharing."""
    records = [list(folder.rounds_by_sequence(cell).values()) for cell in folder.cells]
    recorded = [record for found in records for record in found]
    bounds = [distinct_rounds(cell.schedules, cell.settings.rules.rounds) for cell in folder.cells]
    return StudyPlan(
        cells=len(folder.cells),
        runs=folder.study.runs,
        rounds=sum(cell.runs * cell.settings.rules.rounds for cell in folder.cells),
        least=sum(least for least, _ in bounds),
        most=sum(most for _, most in bounds),
        done=len(recorded),
        # A complete cell has fewer rounds than `most` if hybrids switched in the same round.
        left=sum(
            most - len(found)
            for cell, found, (_, most) in zip(folder.cells, records, bounds, strict=True)
            if not folder.complete(cell)
        ),
        seconds_per_round=mean(map(_seconds, recorded)) if recorded else None,
    )


def distinct_rounds(specs: Sequence[str], rounds: int) -> tuple[int, int]:
    """Return the fewest and the most distinct rounds that one cell needs.

    Most: every hybrid schedule switches as early as it can, each in a different round. Fewest: all switch in the same
    round, or never, whichever shares most; every round that is possible for the most patient one is possible for all.
    First rounds of different updates that train alike count separately here.

    >>> distinct_rounds(["retrain", "finetune", "fixed:3"], 5)
    (13, 13)
    >>> distinct_rounds(["retrain", "hybrid:accuracy"], 5)  # fires after round 3 at the earliest: rounds 4 and 5
    (5, 7)
    """
    sequences: set[str] = set()
    earliest: list[int] = []
    for schedule in map(make_schedule, specs):
        switch = schedule.switch_rounds(rounds)
        if switch is None:
            sequences |= {f"{schedule.spec}/{t}" for t in range(1, rounds + 1)}
        elif len(switch) == 1:
            sequences |= _switch_at(switch.start, rounds)
        else:
            earliest.append(switch.start)
    if not earliest:
        return len(sequences), len(sequences)
    least = min(len(sequences | _switch_at(first, rounds)) for first in range(max(earliest), rounds + 2))
    return least, _most(sequences, earliest, rounds)


def _most(sequences: set[str], earliest: Sequence[int], rounds: int) -> int:
    taken: set[int] = set()
    extra = 0
    for first in sorted(earliest):
        while first in taken and first <= rounds:
            first += 1
        taken.add(first)
        extra += max(0, rounds - first + 1)
    return len(sequences | _prefixes("R" * rounds)) + extra


def _switch_at(first: int, rounds: int) -> set[str]:
    """The update sequences of a schedule that retrains before round `first` and fine-tunes from then on."""
    retrains = min(first - 1, rounds)
    return _prefixes("R" * retrains + "F" * (rounds - retrains))


def _prefixes(sequence: str) -> set[str]:
    return {sequence[:end] for end in range(1, len(sequence) + 1)}


def _seconds(record: Round) -> float:
    return sum(record.seconds.values())


def sharing(folder: StudyFolder, cells: Iterable[CellPlan] | None = None) -> float | None:
    """Return rounds of all runs divided by rounds computed, among the recorded ones; None if there are none."""
    chosen = list(cells if cells is not None else folder.cells)
    alone = sum(len(history) for cell in chosen for history in folder.histories(cell).values())
    computed = sum(len(folder.rounds_by_sequence(cell)) for cell in chosen)
    return alone / computed if computed else None
