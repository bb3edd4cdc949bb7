"""Figures of rounds: each a pure function from histories (spec -> rounds) to a matplotlib figure."""

from __future__ import annotations

from itertools import accumulate

from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator

from hybridal.core.facts import Round
from hybridal.evidence import figure_kit as kit
from hybridal.evidence.formats import plain
from hybridal.evidence.history import Histories, phase_names, total_seconds
from hybridal.evidence.names import distinct_markers, letter, look, schedule_name
from hybridal.evidence.style import INKS, MUTED, new_figure, styled, whole_rounds


def _measure(split: str, name: str) -> kit.Measure:
    def measure(fact: Round) -> float | None:
        metrics = getattr(fact, split)
        return None if metrics is None else float(getattr(metrics, name))

    return measure


def learning_curve(histories: Histories) -> Figure:
    """Accuracy and macro-F1 on validation as lines, and on test, where it was measured, as dotted ones.

    >>> len(learning_curve({"retrain": []}).axes)
    2
    """
    with styled():
        figure = new_figure(4.4 + kit.rounds_room(histories))
        panels = figure.subplots(2, 1, sharex=True)
        tested = False
        for axes, (title, name) in zip(panels, {"Accuracy": "accuracy", "Macro-F1": "f1"}.items(), strict=True):
            whole_rounds(axes, kit.longest(histories))
            shown = kit.curves(axes, histories, _measure("validation", name))
            on_test = kit.curves(axes, histories, _measure("test", name), linestyle=":", linewidth=1.2, markersize=6.5)
            tested = tested or on_test
            axes.set_title(title)
            if not (shown or on_test):
                kit.nothing(axes, "no labelled validation or test texts")
        panels[0].set_xlabel("")
        kit.labels_above(panels[0], histories)
        extra = [
            kit.key("validation", linestyle="-"),
            kit.key("test (larger)", linestyle=":", marker="o", markersize=6.5),
        ]
        kit.rounds_legend(figure, histories, extra if tested else [])
        return figure


def calibration_curves(histories: Histories) -> Figure:
    """NLL and ECE on validation: solid as they came out, dashed after temperature scaling.

    >>> [axes.get_title(loc="left") for axes in calibration_curves({"retrain": []}).axes]
    ['Negative log-likelihood (NLL)', 'Expected calibration error (ECE)']
    """
    shown = {"Negative log-likelihood (NLL)": "nll", "Expected calibration error (ECE)": "ece"}
    with styled():
        figure = new_figure(4.4 + kit.rounds_room(histories))
        panels = figure.subplots(2, 1, sharex=True)
        for axes, (title, name) in zip(panels, shown.items(), strict=True):
            whole_rounds(axes, kit.longest(histories))
            known = kit.curves(axes, histories, _measure("validation", name))
            scaled = _measure("validation", f"{name}_scaled")
            kit.curves(axes, histories, scaled, linestyle=kit.DASHED, linewidth=1.1, markersize=0)
            axes.set_title(title)
            if known:
                axes.set_ylim(bottom=0)
            else:
                kit.nothing(axes, "no labelled validation texts")
        panels[0].set_xlabel("")
        kit.labels_above(panels[0], histories)
        kit.rounds_legend(
            figure, histories, [kit.key("raw", linestyle="-"), kit.key("after temperature", linestyle=kit.DASHED)]
        )
        return figure


def step_curve(histories: Histories) -> Figure:
    """Optimiser steps of all rounds so far.

    >>> step_curve({"retrain": []}).axes[0].get_title(loc="left")
    'Optimiser steps, all rounds so far'
    """
    with styled():
        figure = new_figure(3.0 + kit.rounds_room(histories))
        axes = figure.subplots()
        whole_rounds(axes, kit.longest(histories))
        axes.set_title("Optimiser steps, all rounds so far")
        markers, broad = distinct_markers(histories), kit.widths(list(histories))
        for spec, history in histories.items():
            so_far = accumulate(fact.cost.steps for fact in history)
            kit.curve(axes, list(zip(history, so_far, strict=True)), spec, markers[spec], linewidth=broad[spec])
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        if not kit.longest(histories):
            kit.nothing(axes, "no round is complete yet")
        kit.rounds_legend(figure, histories)
        return figure


def phase_seconds(histories: Histories) -> Figure:
    """Seconds per phase: of each round where there is one history, of each schedule where there are several.

    >>> phase_seconds({"retrain": []}).axes[0].texts[0].get_text()
    'no time was recorded'
    """
    with styled():
        many = len(histories) > 1
        figure = new_figure(1.3 + 0.34 * len(histories) if many else 3.0)
        axes = figure.subplots()
        phases = phase_names(histories)
        if not phases:
            kit.nothing(axes, "no time was recorded")
        elif many:
            names = list(kit.names_of(histories).values())
            totals = [total_seconds(history) for history in histories.values()]
            at = [0.0] * len(names)
            for phase in phases:
                lengths = [total.get(phase, 0.0) for total in totals]
                axes.barh(
                    range(len(names)), lengths, left=at, height=0.68, color=_colour(phase), label=plain(phase, 32)
                )
                at = [start + length for start, length in zip(at, lengths, strict=True)]
            axes.set_yticks(range(len(names)), names)
            axes.invert_yaxis()
            axes.grid(axis="y", visible=False)
            axes.set_xlabel("seconds, all rounds")
        else:
            (history,) = histories.values()
            whole_rounds(axes, kit.longest(histories))
            at = [0.0] * len(history)
            for phase in phases:
                lengths = [fact.seconds.get(phase, 0.0) for fact in history]
                rounds = [fact.round for fact in history]
                axes.bar(rounds, lengths, bottom=at, width=0.72, color=_colour(phase), label=plain(phase, 32))
                at = [start + length for start, length in zip(at, lengths, strict=True)]
            axes.set_title("Seconds of each round")
        if phases:
            figure.legend(loc="outside lower center", ncols=3, handlelength=1.0, handleheight=1.0)
        return figure


def _colour(phase: str) -> str:
    return INKS.get(f"phase-{phase}", (MUTED, MUTED))[0]


_TINT = 0.3


def strategy_strip(histories: Histories) -> Figure:
    """Rounds from left to right, schedules from top to bottom; letter and tint say the update.

    >>> figure = strategy_strip({"retrain": [], "fixed:5": []})
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['Retrain', 'FixedSwitch@5']
    """
    with styled():
        rows = max(len(histories), 1)
        figure = new_figure(0.95 + 0.32 * rows)
        axes = figure.subplots()
        last = kit.longest(histories)
        whole_rounds(axes, last)
        axes.set_ylim(rows - 0.5, -0.5)
        axes.grid(visible=False)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        updates: dict[str, str] = {}
        for row, history in enumerate(histories.values()):
            for fact in history:
                colour = look(fact.update).light
                updates[fact.update] = colour
                corner = (fact.round - 0.46, row - 0.42)
                axes.add_patch(Rectangle(corner, 0.92, 0.84, facecolor=colour, alpha=_TINT, linewidth=0))
                if last <= 30:
                    size = 9 if last <= 12 else 6.5
                    axes.text(fact.round, row, letter(fact.update), ha="center", va="center", fontsize=size)
        names = list(kit.names_of(histories).values())
        axes.set_yticks(range(len(names)), names if len(names) > 1 else [""] * len(names))
        keys = [
            Patch(color=c, alpha=_TINT, label=f"{letter(u)}  {plain(schedule_name(u), 32)}") for u, c in updates.items()
        ]
        if keys:
            figure.legend(handles=keys, loc="outside lower center", ncols=3, handlelength=1.2)
        return figure
