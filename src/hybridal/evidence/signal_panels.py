"""The signals' figures: those that decided, and those that were only watched."""

from __future__ import annotations

from collections.abc import Mapping

from hybridal.evidence.alts import signal_alt
from hybridal.evidence.detectors import own_detectors, usual_detector
from hybridal.evidence.looks import schedule_name
from hybridal.evidence.panel import Panel
from hybridal.evidence.story import settles
from hybridal.evidence.summary import Histories
from hybridal.measures.stabilisation import Stabilisation
from hybridal.schedules import Schedule


def deciding_panels(histories: Histories, schedules: Mapping[str, Schedule]) -> list[Panel]:
    """One figure for each signal that some schedule decides by, with the schedules that do."""
    found = []
    for signal, deciding in own_detectors(histories, schedules).items():
        shown = {spec: histories[spec] for spec in deciding}
        if not _moved(shown, signal):
            continue
        reading = (
            f"How much ‘{signal}’ changed since the round before, on a logarithmic scale. Rounds below ε are stable; "
            f"fine-tuning begins in the round after t*, once {settles(signal, next(iter(deciding.values())), 'has ')}."
        )
        if len(set(deciding.values())) > 1:
            reading = (
                reading.partition(", once")[0] + ". Each schedule has its own ε, or its own number of rounds to wait."
            )
        found.append(_panel(f"When the model settled: {_called(signal)}", reading, shown, signal, deciding))
    return found


def watched_panels(histories: Histories, schedules: Mapping[str, Schedule]) -> list[Panel]:
    """One figure for each signal that no ε decided by; of one run alone, because they would all look alike."""
    found = []
    read = {signal.name for schedule in schedules.values() for signal in schedule.watches}
    for signal, deciding in own_detectors(histories, schedules).items():
        if deciding or len(histories) > 1 or not _moved(histories, signal):
            continue
        reading = f"How much ‘{signal}’ changed since the round before, on a logarithmic scale."
        if signal in read:
            reading += " No ε decides here: the schedule, or the forecast of more labels, reads it by its own rule."
            found.append(_panel(f"What the schedule watched: {_called(signal)}", reading, histories, signal, {}))
            continue
        usual = usual_detector(signal)
        reading += " It was only watched: ε and t* are those with which it would have decided." if usual else ""
        detectors = dict.fromkeys(histories, usual) if usual else {}
        found.append(_panel(f"Also watched: {_called(signal)}", reading, histories, signal, detectors))
    return found


def _panel(title: str, reading: str, shown: Histories, signal: str, detectors: Mapping[str, Stabilisation]) -> Panel:
    from hybridal.evidence.figures.signal import signal_curve
    from hybridal.evidence.svg import to_svg

    # Names of foreign signals may hold anything, ids of a page may not.
    name = "signal-" + signal.encode().hex()
    return Panel(
        title, reading, to_svg(signal_curve(shown, signal, detectors), signal_alt(shown, signal, detectors), name)
    )


def _moved(histories: Histories, signal: str) -> bool:
    return any(fact.changes.get(signal) is not None for history in histories.values() for fact in history)


def _called(signal: str) -> str:
    return schedule_name(f"hybrid:{signal}").removeprefix("HybridAL ")
