"""What training has cost so far, counted: optimiser steps, the same on any machine."""

from __future__ import annotations

from itertools import accumulate

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from hybridal.evidence.figures._curves import curve, legend, longest, nothing, room, widths
from hybridal.evidence.looks import distinct_markers
from hybridal.evidence.style import new_figure, styled, whole_rounds
from hybridal.evidence.summary import Histories


def step_curve(histories: Histories) -> Figure:
    """Optimiser steps of all rounds so far.

    >>> step_curve({"retrain": []}).axes[0].get_title(loc="left")
    'Optimiser steps, all rounds so far'
    """
    with styled():
        figure = new_figure(3.0 + room(histories))
        axes = figure.subplots()
        whole_rounds(axes, longest(histories))
        axes.set_title("Optimiser steps, all rounds so far")
        markers, broad = distinct_markers(histories), widths(list(histories))
        for spec, history in histories.items():
            so_far = accumulate(fact.cost.steps for fact in history)
            curve(axes, list(zip(history, so_far, strict=True)), spec, markers[spec], linewidth=broad[spec])
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        if not longest(histories):
            nothing(axes, "no round is complete yet")
        legend(figure, histories)
        return figure
