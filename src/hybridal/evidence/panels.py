"""The figures of a run or a comparison, in the order in which they tell what happened, each also in words."""

from __future__ import annotations

from collections.abc import Mapping

from hybridal.evidence.formats import change, count, counted, duration, rounds_between, score, threshold
from hybridal.evidence.history import (
    Histories,
    changes,
    own_detectors,
    stretches,
    total_cost,
    total_seconds,
    usual_detector,
)
from hybridal.evidence.names import distinct_names, schedule_name
from hybridal.evidence.page import Panel
from hybridal.evidence.story import settles
from hybridal.measures.stabilisation import Stabilisation
from hybridal.schedules import Schedule
from hybridal.signals import signal_title


def panels(histories: Histories, schedules: Mapping[str, Schedule]) -> list[Panel]:
    """Every figure that these histories have facts for."""
    from hybridal.evidence.round_figures import (
        calibration_curves,
        learning_curve,
        phase_seconds,
        step_curve,
        strategy_strip,
    )
    from hybridal.evidence.svg import to_svg

    facts = [fact for history in histories.values() for fact in history]
    if not facts:
        return []
    shared = " Schedules share a line for as long as they have decided alike." if len(histories) > 1 else ""
    found = [
        Panel(
            "Which update each round used",
            "R trains anew from the pretrained weights; all other letters build on the weights of the round before.",
            to_svg(strategy_strip(histories), strategy_alt(histories), "strategy"),
        )
    ]
    found += deciding_panels(histories, schedules)
    if any(fact.validation or fact.test for fact in facts):
        reading = "How often the model is right; higher is better. A filled mark is a round that retrained." + shared
        alt = measure_alt(histories, "accuracy", "accuracy") + measure_alt(histories, "f1", "macro-F1")
        found.append(Panel("How good the model became", reading, to_svg(learning_curve(histories), alt, "learning")))
    if any(fact.validation for fact in facts):
        reading = (
            "How far the model's probabilities can be believed; lower is better. The dashed line is what remains after "
            "dividing the logits by one number, the temperature, fitted on validation."
        )
        alt = measure_alt(histories, "nll", "NLL") + measure_alt(histories, "ece", "ECE")
        drawn = to_svg(calibration_curves(histories), alt, "calibration")
        found.append(Panel("How honest its confidence is", reading, drawn))
    reading = "Counted, and so the same on any machine: the flatter the line, the cheaper the round." + shared
    found.append(Panel("What training cost", reading, to_svg(step_curve(histories), cost_alt(histories), "steps")))
    if any(fact.seconds for fact in facts):
        reading = "By the clock of the machine that trained; “score” and “select” choose the texts to label next."
        drawn = to_svg(phase_seconds(histories), seconds_alt(histories), "seconds")
        found.append(Panel("Where the time went", reading, drawn))
    return found + watched_panels(histories, schedules)


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
        found.append(_panel(f"When the model settled: {signal_title(signal)}", reading, shown, signal, deciding))
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
            found.append(_panel(f"What the schedule watched: {signal_title(signal)}", reading, histories, signal, {}))
            continue
        usual = usual_detector(signal)
        reading += " It was only watched: ε and t* are those with which it would have decided." if usual else ""
        detectors = dict.fromkeys(histories, usual) if usual else {}
        found.append(_panel(f"Also watched: {signal_title(signal)}", reading, histories, signal, detectors))
    return found


def _panel(title: str, reading: str, shown: Histories, signal: str, detectors: Mapping[str, Stabilisation]) -> Panel:
    from hybridal.evidence.signal_figure import signal_curve
    from hybridal.evidence.svg import to_svg

    # Names of foreign signals may hold anything, ids of a page may not.
    name = "signal-" + signal.encode().hex()
    return Panel(
        title, reading, to_svg(signal_curve(shown, signal, detectors), signal_alt(shown, signal, detectors), name)
    )


def _moved(histories: Histories, signal: str) -> bool:
    return any(fact.changes.get(signal) is not None for history in histories.values() for fact in history)


def strategy_alt(histories: Histories) -> str:
    """Who used which update when."""
    names = distinct_names(histories)
    runs = (
        f"{names[spec]}: "
        + ", ".join(f"{schedule_name(p.update)} in {rounds_between(p.first, p.last)}" for p in stretches(history))
        for spec, history in histories.items()
    )
    return f"Update of each round. {'; '.join(runs)}."


def measure_alt(histories: Histories, name: str, called: str) -> str:
    """Where a validation measure started and ended."""
    names, parts = distinct_names(histories), []
    for spec, history in histories.items():
        known = [(fact.round, getattr(fact.validation, name)) for fact in history if fact.validation is not None]
        if known:
            (first, start), (last, end) = known[0], known[-1]
            parts.append(f"{names[spec]} from {score(start)} in round {first} to {score(end)} in round {last}")
    return f"Validation {called}: {'; '.join(parts)}. " if parts else ""


def signal_alt(histories: Histories, signal: str, detectors: Mapping[str, Stabilisation]) -> str:
    """How far a signal moved and when it settled."""
    names, parts = distinct_names(histories), []
    for spec, history in histories.items():
        found = changes(history, signal)
        known = [value for value in found if value is not None]
        part = (
            f"{names[spec]} between {change(min(known))} and {change(max(known))}" if known else f"{names[spec]} none"
        )
        if spec in detectors:
            settled = detectors[spec].t_star(found)
            part += f", ε {threshold(detectors[spec].epsilon)}, "
            part += "not settled" if settled is None else f"settled in round {settled}"
        parts.append(part)
    return f"Change of the signal {signal} per round: {'; '.join(parts)}."


def cost_alt(histories: Histories) -> str:
    """All steps."""
    names = distinct_names(histories)
    totals = (f"{names[spec]} {count(total_cost(history).steps)}" for spec, history in histories.items())
    return f"Optimiser steps, summed over rounds: {'; '.join(totals)} at the end."


def seconds_alt(histories: Histories) -> str:
    """All seconds."""
    names = distinct_names(histories)
    totals = (
        f"{names[spec]} {duration(sum(total_seconds(history).values()))} in {counted(len(history), 'round')}"
        for spec, history in histories.items()
    )
    return f"Seconds per phase, stacked: {'; '.join(totals)}."
