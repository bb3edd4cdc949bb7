"""The learning curve: accuracy and macro-F1, round by round."""

from __future__ import annotations

from matplotlib.figure import Figure

from hybridal.core.facts import Round
from hybridal.evidence.figures._curves import Measure, curves, key, labels_above, legend, longest, nothing, room
from hybridal.evidence.style import new_figure, styled, whole_rounds
from hybridal.evidence.summary import Histories

_PANELS = (("Accuracy", "accuracy"), ("Macro-F1", "f1"))


def learning_curve(histories: Histories) -> Figure:
    """Accuracy and macro-F1 on validation as lines, and on test, where it was measured, as dotted ones.

    >>> len(learning_curve({"retrain": []}).axes)
    2
    """
    with styled():
        figure = new_figure(4.4 + room(histories))
        panels = figure.subplots(2, 1, sharex=True)
        tested = False
        for axes, (title, name) in zip(panels, _PANELS, strict=True):
            whole_rounds(axes, longest(histories))
            shown = curves(axes, histories, _measure("validation", name))
            on_test = curves(axes, histories, _measure("test", name), linestyle=":", linewidth=1.2, markersize=6.5)
            tested = tested or on_test
            axes.set_title(title)
            if not (shown or on_test):
                nothing(axes, "no labelled validation or test texts")
        panels[0].set_xlabel("")
        labels_above(panels[0], histories)
        extra = [key("validation", linestyle="-"), key("test (larger)", linestyle=":", marker="o", markersize=6.5)]
        legend(figure, histories, extra if tested else [])
        return figure


def _measure(split: str, name: str) -> Measure:
    def measure(fact: Round) -> float | None:
        metrics = getattr(fact, split)
        return None if metrics is None else float(getattr(metrics, name))

    return measure
