"""The figures of a run or a comparison in reading order, each with alternative text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hybridal.measures.certainty import known
from hybridal.measures.stabilisation import Stabilisation
from hybridal.reports.display_names import distinct_names, schedule_name
from hybridal.reports.history_summary import (
    Histories,
    changes,
    own_detectors,
    streaks,
    total_cost,
    total_seconds,
    usual_detector,
)
from hybridal.reports.number_formats import change, count, counted, duration, rounds_between, score, threshold
from hybridal.reports.report_measures import has_several_labels
from hybridal.reports.report_page import Panel
from hybridal.reports.story import settles
from hybridal.schedules import Schedule
from hybridal.signals import signal_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def panels(histories: Histories, schedules: Mapping[str, Schedule]) -> list[Panel]:
    """Return every figure that these histories have data for."""
    from hybridal.reports import round_figures as draw

    records = [record for history in histories.values() for record in history]
    if not records:
        return []
    found: list[Panel] = []

    def show(title: str, reading: str, figure: Callable[[Histories], Figure], alt: str, name: str) -> None:
        found.append(_panel(title, reading, figure(histories), alt, name))

    shared = " Schedules share a line for as long as they have decided alike." if len(histories) > 1 else ""
    reading = "R retrains from the pretrained weights; all other letters build on the weights of the round before."
    show("Which update each round used", reading, draw.strategy_strip, _strategy_alt(histories), "strategy")
    found += deciding_panels(histories, schedules)
    if any(record.validation or record.test for record in records):
        if has_several_labels(records):
            how, alt = "How well the given classes match the labels", _measure_alt(histories, "micro_f1", "micro-F1")
        else:
            how, alt = "How often the model is right", _measure_alt(histories, "accuracy", "accuracy")
        reading = f"{how}; higher is better. A filled mark is a round that retrained." + shared
        alt += _measure_alt(histories, "f1", "macro-F1")
        show("How good the model became", reading, draw.learning_curve, alt, "learning")
    if any(record.validation for record in records):
        reading = (
            "How far the model's probabilities can be believed; lower is better. The dashed line is what remains after "
            "dividing the logits by one number, the temperature, fitted on validation."
        )
        alt = _measure_alt(histories, "nll", "NLL") + _measure_alt(histories, "ece", "ECE")
        show("How honest its confidence is", reading, draw.calibration_curves, alt, "calibration")
    reading = "Counted, and so the same on any machine: the flatter the line, the cheaper the round." + shared
    totals = _each(histories, lambda spec: count(total_cost(histories[spec]).steps))
    alt = f"Optimiser steps, summed over rounds: {totals} at the end."
    show("What training cost", reading, draw.step_curve, alt, "steps")
    if any(record.seconds for record in records):
        reading = "Wall-clock time on the machine that trained; “score” and “select” choose the texts to label next."
        alt = f"Seconds per phase, stacked: {_each(histories, lambda spec: _time(histories, spec))}."
        show("Where the time went", reading, draw.phase_seconds, alt, "seconds")
    return found + watched_panels(histories, schedules)


def deciding_panels(histories: Histories, schedules: Mapping[str, Schedule]) -> list[Panel]:
    """Return one figure per signal that decides for a schedule, with these schedules."""
    found = []
    for signal, deciding in own_detectors(histories, schedules).items():
        shown = {spec: histories[spec] for spec in deciding}
        if not _moved(shown, signal):
            continue
        once = f", once {settles(signal, next(iter(deciding.values())), 'has ')}."
        if len(set(deciding.values())) > 1:
            once = ". Each schedule has its own ε, or its own number of rounds to wait."
        reading = (
            f"How much ‘{signal}’ changed since the round before, on a logarithmic scale. Rounds below ε are stable; "
            f"fine-tuning begins in the round after t*{once}"
        )
        found.append(_signal_panel("When the model settled", reading, shown, signal, deciding))
    return found


def watched_panels(histories: Histories, schedules: Mapping[str, Schedule]) -> list[Panel]:
    """Return one figure per signal that did not decide; only for a single run, because runs would look alike."""
    found = []
    read = {signal.name for schedule in schedules.values() for signal in schedule.watches}
    for signal, deciding in own_detectors(histories, schedules).items():
        if deciding or len(histories) > 1 or not _moved(histories, signal):
            continue
        reading = f"How much ‘{signal}’ changed since the round before, on a logarithmic scale."
        if signal in read:
            reading += " No ε decides here: the schedule, or the forecast of more labels, reads it by its own rule."
            found.append(_signal_panel("What the schedule watched", reading, histories, signal, {}))
            continue
        usual = usual_detector(signal)
        reading += " It was only watched: ε and t* are those with which it would have decided." if usual else ""
        detectors = dict.fromkeys(histories, usual) if usual else {}
        found.append(_signal_panel("Also watched", reading, histories, signal, detectors))
    return found


def _signal_panel(
    title: str, reading: str, shown: Histories, signal: str, detectors: Mapping[str, Stabilisation]
) -> Panel:
    from hybridal.reports.round_figures import signal_curve

    figure, alt = signal_curve(shown, signal, detectors), _signal_alt(shown, signal, detectors)
    # Names of plug-in signals may contain any character; ids in a page may not.
    return _panel(f"{title}: {signal_title(signal)}", reading, figure, alt, "signal-" + signal.encode().hex())


def _panel(title: str, reading: str, figure: Figure, alt: str, name: str) -> Panel:
    from hybridal.reports.figure_style import to_svg

    return Panel(title, reading, to_svg(figure, alt, name))


def _moved(histories: Histories, signal: str) -> bool:
    return any(record.changes.get(signal) is not None for history in histories.values() for record in history)


def _each(histories: Histories, say: Callable[[str], str], mark: str = " ") -> str:
    """Join a text for each schedule, after its name; schedules with an empty text are left out."""
    texts = {name: say(spec) for spec, name in distinct_names(histories).items()}
    return "; ".join(f"{name}{mark}{words}" for name, words in texts.items() if words)


def _time(histories: Histories, spec: str) -> str:
    spent = sum(total_seconds(histories[spec]).values())
    return f"{duration(spent)} in {counted(len(histories[spec]), 'round')}"


def _strategy_alt(histories: Histories) -> str:
    """Which schedule used which update in which rounds."""

    def used(spec: str) -> str:
        parts = streaks(histories[spec])
        return ", ".join(f"{schedule_name(p.update)} in {rounds_between(p.first, p.last)}" for p in parts)

    return f"Update of each round. {_each(histories, used, ': ')}."


def _measure_alt(histories: Histories, name: str, called: str) -> str:
    """Where a validation measure started and ended."""

    def ends(spec: str) -> str:
        found = [(record.round, known(record.validation, name)) for record in histories[spec] if record.validation]
        told = [(round, value) for round, value in found if value is not None]
        words = [f"{score(value)} in round {round}" for round, value in (told[:1] + told[-1:])]
        return "from " + " to ".join(words) if words else ""

    words = _each(histories, ends)
    return f"Validation {called}: {words}. " if words else ""


def _signal_alt(histories: Histories, signal: str, detectors: Mapping[str, Stabilisation]) -> str:
    """The range of a signal's changes, and when it settled."""

    def moved(spec: str) -> str:
        found, detector = changes(histories[spec], signal), detectors.get(spec)
        known = [value for value in found if value is not None]
        moves = f"between {change(min(known))} and {change(max(known))}" if known else "none"
        if detector is None:
            return moves
        settled = detector.t_star(found)
        end = "not settled" if settled is None else f"settled in round {settled}"
        return f"{moves}, ε {threshold(detector.epsilon)}, {end}"

    return f"Change of the signal {signal} per round: {_each(histories, moved)}."
