"""Calibration, round by round: NLL and ECE, as they came out and after temperature scaling."""

from __future__ import annotations

from matplotlib.figure import Figure

from hybridal.core.facts import Round
from hybridal.evidence.figures._curves import Measure, curves, key, labels_above, legend, longest, nothing, room
from hybridal.evidence.style import new_figure, styled, whole_rounds
from hybridal.evidence.summary import Histories

_PANELS = (("Negative log-likelihood (NLL)", "nll"), ("Expected calibration error (ECE)", "ece"))


def calibration_curves(histories: Histories) -> Figure:
    """NLL and ECE on validation: solid as they came out, dashed after temperature scaling.

    >>> [axes.get_title(loc="left") for axes in calibration_curves({"retrain": []}).axes]
    ['Negative log-likelihood (NLL)', 'Expected calibration error (ECE)']
    """
    with styled():
        figure = new_figure(4.4 + room(histories))
        panels = figure.subplots(2, 1, sharex=True)
        for axes, (title, name) in zip(panels, _PANELS, strict=True):
            whole_rounds(axes, longest(histories))
            shown = curves(axes, histories, _measure(name))
            curves(axes, histories, _measure(f"{name}_scaled"), linestyle=(0, (4, 2)), linewidth=1.1, markersize=0)
            axes.set_title(title)
            if shown:
                axes.set_ylim(bottom=0)
            else:
                nothing(axes, "no labelled validation texts")
        panels[0].set_xlabel("")
        labels_above(panels[0], histories)
        legend(figure, histories, [key("raw", linestyle="-"), key("after temperature", linestyle=(0, (4, 2)))])
        return figure


def _measure(name: str) -> Measure:
    def measure(fact: Round) -> float | None:
        return None if fact.validation is None else float(getattr(fact.validation, name))

    return measure
