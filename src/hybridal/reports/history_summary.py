"""Summaries of a list of rounds: streaks of one update, final metrics, total cost, and signals with their detectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from hybridal.core.rounds import PHASES, Cost, Metrics, Round
from hybridal.errors import UserError
from hybridal.measures.stabilisation import Stabilisation
from hybridal.reports.display_names import letter
from hybridal.schedules import Schedule
from hybridal.signals import SIGNALS

Histories = Mapping[str, Sequence[Round]]
COUNTED = ("steps", "examples", "tokens", "epochs")


@dataclass(frozen=True)
class Streak:
    """Rounds in a row, both ends included, with the same update."""

    first: int
    last: int
    update: str

    @property
    def rounds(self) -> int:
        return self.last - self.first + 1


def streaks(history: Sequence[Round]) -> list[Streak]:
    """Split the rounds into streaks of one update."""
    groups = [list(group) for _, group in groupby(history, key=lambda record: record.update)]
    return [Streak(group[0].round, group[-1].round, group[0].update) for group in groups]


def short_sequence(history: Sequence[Round]) -> str:
    """The update sequence in run-length form: `RRRRRFFF` is R×5 F×3."""
    return " ".join(f"{letter(part.update)}×{part.rounds}" for part in streaks(history))


def plain_sequence(history: Sequence[Round]) -> str:
    """The update sequence for a line of text: in run-length form if its letters are long, as in P(96)."""
    sequence = history[-1].update_sequence if history else ""
    return short_sequence(history) if "(" in sequence else sequence


def total_cost(history: Sequence[Round]) -> Cost:
    """The counted cost of all rounds."""
    return Cost(**{name: sum(getattr(record.cost, name) for record in history) for name in COUNTED})


def phase_names(histories: Histories) -> list[str]:
    """Every phase that took time in some round; known phases come first, in their order."""
    seen = dict.fromkeys(name for history in histories.values() for record in history for name in record.seconds)
    return [name for name in PHASES if name in seen] + [name for name in seen if name not in PHASES]


def total_seconds(history: Sequence[Round]) -> dict[str, float]:
    """Seconds per phase over all rounds."""
    return {name: sum(record.seconds.get(name, 0.0) for record in history) for name in phase_names({"": history})}


def signal_names(histories: Histories) -> list[str]:
    """Every signal that was recorded in some round."""
    return list(dict.fromkeys(name for history in histories.values() for record in history for name in record.changes))


def changes(history: Sequence[Round], signal: str) -> list[float | None]:
    """The changes of one signal, round by round; None where it was not measured."""
    return [record.changes.get(signal) for record in history]


def final(history: Sequence[Round], split: str = "") -> tuple[str, Metrics] | None:
    """The split and metrics of the last model: test if measured, else validation; None if neither."""
    if not history:
        return None
    last = history[-1]
    for name, metrics in (("test", last.test), ("validation", last.validation)):
        if metrics is not None and split in ("", name):
            return name, metrics
    return None


def shared_split(histories: Histories) -> str:
    """The split on which all last models were measured; metrics of different splits are not comparable."""
    last = [history[-1] for history in histories.values() if history]
    return "test" if last and all(record.test is not None for record in last) else "validation"


def sharing(histories: Histories) -> tuple[int, int]:
    """Return the rounds of all runs of one cell, and how many are distinct; their quotient is the sharing factor.

    Rounds with the same update sequence are computed once.
    """
    records = [record for history in histories.values() for record in history]
    return len(records), len({record.update_sequence for record in records})


def own_detectors(histories: Histories, schedules: Mapping[str, Schedule]) -> dict[str, dict[str, Stabilisation]]:
    """The detectors of schedules by signal and spec; signals that decide come first."""
    found: dict[str, dict[str, Stabilisation]] = {}
    for spec in histories:
        if spec in schedules and (rule := schedules[spec].rule) is not None:
            found.setdefault(rule.signal.name, {})[spec] = rule.detector
    return found | {name: {} for name in signal_names(histories) if name not in found}


def usual_detector(signal: str) -> Stabilisation | None:
    """A detector with the signal's default ε and k; None if the signal is not installed."""
    try:
        known = SIGNALS.make(signal)
    except UserError:
        return None
    return Stabilisation(known.epsilon, known.patience)


def detectors_of(histories: Histories, schedules: Mapping[str, Schedule]) -> dict[str, Stabilisation]:
    """The detector of each signal: that of the first schedule that has one, else the default."""
    own = own_detectors(histories, schedules)
    found = {name: next(iter(deciding.values()), None) or usual_detector(name) for name, deciding in own.items()}
    return {signal: detector for signal, detector in found.items() if detector is not None}
