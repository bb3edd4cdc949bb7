"""The figures of a report, in the order in which they tell what happened."""

from __future__ import annotations

from collections.abc import Mapping

from hybridal.evidence.alts import cost_alt, measure_alt, seconds_alt, strategy_alt
from hybridal.evidence.panel import Panel
from hybridal.evidence.signal_panels import deciding_panels, watched_panels
from hybridal.evidence.summary import Histories
from hybridal.schedules import Schedule


def panels(histories: Histories, schedules: Mapping[str, Schedule]) -> list[Panel]:
    """Every figure that these histories have facts for."""
    from hybridal.evidence.figures.calibration import calibration_curves
    from hybridal.evidence.figures.cost import step_curve
    from hybridal.evidence.figures.learning import learning_curve
    from hybridal.evidence.figures.seconds import phase_seconds
    from hybridal.evidence.figures.strategy import strategy_strip
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
