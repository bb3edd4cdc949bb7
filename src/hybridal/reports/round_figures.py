"""Figures of rounds: each a pure function from histories (spec -> rounds) to a matplotlib figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from hybridal.core.rounds import Round
from hybridal.measures.certainty import known
from hybridal.measures.stabilisation import Stabilisation
from hybridal.reports import figure_kit as kit
from hybridal.reports.display_names import distinct_markers, letter, schedule_name, style_of
from hybridal.reports.figure_style import INK, INKS, MUTED, SURFACE, whole_rounds
from hybridal.reports.history_summary import Histories, changes, phase_names, total_seconds
from hybridal.reports.number_formats import change, plain, threshold
from hybridal.reports.report_measures import has_several_labels

_TINT = 0.3


def learning_curve(histories: Histories) -> Figure:
    """Accuracy and macro-F1 on validation as lines, and on test, where it was measured, as dotted ones.

    With several labels per text, micro-F1 takes the place of accuracy.
    """
    several = has_several_labels(record for history in histories.values() for record in history)
    first = {"Micro-F1": "micro_f1"} if several else {"Accuracy": "accuracy"}
    on_test = {"linestyle": ":", "linewidth": 1.2, "markersize": 6.5}
    return _two_measures(
        histories,
        {**first, "Macro-F1": "f1"},
        {"validation.{}": {}, "test.{}": on_test},
        [kit.key("validation", linestyle="-"), kit.key("test (larger)", linestyle=":", marker="o", markersize=6.5)],
        "too few labelled validation or test texts",
    )


def calibration_curves(histories: Histories) -> Figure:
    """NLL and ECE on validation: solid as they came out, dashed after temperature scaling."""
    return _two_measures(
        histories,
        {"Negative log-likelihood (NLL)": "nll", "Expected calibration error (ECE)": "ece"},
        {"validation.{}": {}, "validation.{}_scaled": {"linestyle": kit.DASHED, "linewidth": 1.1, "markersize": 0}},
        [kit.key("raw", linestyle="-"), kit.key("after temperature", linestyle=kit.DASHED)],
        "too few labelled validation texts",
        from_zero=True,
    )


def _two_measures(
    histories: Histories,
    titles: Mapping[str, str],
    lines: Mapping[str, Mapping[str, Any]],
    keys: Sequence[kit.Key],
    missing: str,
    from_zero: bool = False,
) -> Figure:
    """A panel a measure, with two lines a schedule; the keys of the lines are shown where the second one is there."""
    with kit.drawing(4.4 + kit.legend_height(histories)) as figure:
        panels = figure.subplots(2, 1, sharex=True)
        both = False
        for axes, (title, name) in zip(panels, titles.items(), strict=True):
            whole_rounds(axes, kit.longest(histories))
            drawn = [
                kit.curves(axes, _measured(histories, *where.format(name).split(".")), **look_of_it)
                for where, look_of_it in lines.items()
            ]
            axes.set_title(title)
            both = both or drawn[-1]
            if not any(drawn):
                kit.write_no_data(axes, missing)
            elif from_zero:
                axes.set_ylim(bottom=0)
        panels[0].set_xlabel("")
        kit.labels_above(panels[0], histories)
        kit.rounds_legend(figure, histories, keys if both else [])
        return figure


def _measured(histories: Histories, split: str, name: str) -> dict[str, list[tuple[Round, float]]]:
    return {
        spec: [
            (record, value)
            for record in history
            if (metrics := getattr(record, split)) is not None and (value := known(metrics, name)) is not None
        ]
        for spec, history in histories.items()
    }


def step_curve(histories: Histories) -> Figure:
    """Optimiser steps of all rounds so far."""
    so_far = {
        spec: list(zip(history, accumulate(record.cost.steps for record in history), strict=True))
        for spec, history in histories.items()
    }
    with kit.drawing(3.0 + kit.legend_height(histories)) as figure:
        axes = figure.subplots()
        whole_rounds(axes, kit.longest(histories))
        axes.set_title("Optimiser steps, all rounds so far")
        if not kit.curves(axes, so_far):
            kit.write_no_data(axes, "no round is complete yet")
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        kit.rounds_legend(figure, histories)
        return figure


def phase_seconds(histories: Histories) -> Figure:
    """Seconds per phase: of each round where there is one history, of each schedule where there are several."""
    many, phases = len(histories) > 1, phase_names(histories)
    with kit.drawing(1.3 + 0.34 * len(histories) if many else 3.0) as figure:
        axes = figure.subplots()
        if not phases:
            kit.write_no_data(axes, "no time was recorded")
            return figure
        if many:
            names = list(kit.names_of(histories).values())
            spent = dict(enumerate(total_seconds(history) for history in histories.values()))
        else:
            whole_rounds(axes, kit.longest(histories))
            spent = {record.round: dict(record.seconds) for history in histories.values() for record in history}
        at = [0.0] * len(spent)
        for phase in phases:
            lengths = [seconds.get(phase, 0.0) for seconds in spent.values()]
            look_of_it: dict[str, Any] = {
                "color": INKS.get(f"phase-{phase}", (MUTED, MUTED))[0],
                "label": plain(phase, 32),
            }
            if many:
                axes.barh(list(spent), lengths, left=at, height=0.68, **look_of_it)
            else:
                axes.bar(list(spent), lengths, bottom=at, width=0.72, **look_of_it)
            at = [start + length for start, length in zip(at, lengths, strict=True)]
        if many:
            axes.set_yticks(range(len(names)), names)
            axes.invert_yaxis()
            axes.grid(axis="y", visible=False)
            axes.set_xlabel("seconds, all rounds")
        else:
            axes.set_title("Seconds of each round")
        figure.legend(loc="outside lower center", ncols=3, handlelength=1.0, handleheight=1.0)
        return figure


def strategy_strip(histories: Histories) -> Figure:
    """Rounds from left to right, schedules from top to bottom; letter and tint say the update."""
    rows, last = max(len(histories), 1), kit.longest(histories)
    with kit.drawing(0.95 + 0.32 * rows) as figure:
        axes = figure.subplots()
        whole_rounds(axes, last)
        axes.set_ylim(rows - 0.5, -0.5)
        axes.grid(visible=False)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        updates: dict[str, str] = {}
        for row, history in enumerate(histories.values()):
            for record in history:
                colour = updates.setdefault(record.update, style_of(record.update).light)
                corner = (record.round - 0.46, row - 0.42)
                axes.add_patch(Rectangle(corner, 0.92, 0.84, facecolor=colour, alpha=_TINT, linewidth=0))
                if last <= 30:
                    size = 9 if last <= 12 else 6.5
                    axes.text(record.round, row, letter(record.update), ha="center", va="center", fontsize=size)
        names = list(kit.names_of(histories).values())
        axes.set_yticks(range(len(names)), names if len(names) > 1 else [""] * len(names))
        labels = {update: f"{letter(update)}  {plain(schedule_name(update), 32)}" for update in updates}
        keys = [Patch(color=colour, alpha=_TINT, label=labels[update]) for update, colour in updates.items()]
        if keys:
            figure.legend(handles=keys, loc="outside lower center", ncols=3, handlelength=1.2)
        return figure


def signal_curve(histories: Histories, signal: str, detectors: Mapping[str, Stabilisation]) -> Figure:
    """The changes of one signal on a logarithmic scale, with ε, the stable rounds and t* of each detector.

    `detectors` are by spec, as the histories are; a history without one is drawn as a line only.
    """
    found = {spec: changes(history, signal) for spec, history in histories.items()}
    values = [value for own in found.values() for value in own if value is not None]
    with kit.drawing(3.1 + kit.legend_height(histories)) as figure:
        axes = figure.subplots()
        whole_rounds(axes, kit.longest(histories))
        if not values:
            kit.write_no_data(axes, "no change was measured yet")
            return figure
        floor = _scale(axes, values, [detector.epsilon for detector in detectors.values()])
        settled: dict[int, str] = {}
        markers, broad = distinct_markers(histories), kit.widths(list(histories))
        for spec, own in found.items():
            detector, colour = detectors.get(spec), style_of(spec).light
            points = kit.stable_points(own, detector, floor)
            kit.marked_line(axes, points, colour, markers[spec], 5.5, linewidth=broad[spec])
            if detector and (t_star := detector.t_star(own)):
                settled[t_star] = colour
        above = axes.get_xaxis_transform()
        for row, (t_star, colour) in enumerate(sorted(settled.items())):
            axes.axvline(t_star, color=colour, linewidth=1, linestyle=":")
            # In one of three rows, so that neighbours do not overlap.
            _outside(axes, f"t* = {t_star}", (t_star, 1), (0, 3 + 11 * (row % 3)), above, colour, ha="center")
        for epsilon in sorted({detector.epsilon for detector in detectors.values()}):
            axes.axhline(epsilon, color=INK, linestyle=(0, (5, 3)), linewidth=1)
            _label_right(axes, epsilon, f"ε = {threshold(epsilon)}", INK)
        extra = [kit.key("moved", marker="o", markerfacecolor=SURFACE), kit.key("stable (below ε)", marker="o")]
        kit.rounds_legend(figure, histories, extra if detectors else [], shapes=False)
        return figure


def _scale(axes: Axes, values: list[float], thresholds: list[float]) -> float:
    """A logarithmic axis, because changes fall by orders of magnitude; 0 has a line of its own at the bottom."""
    positive = [value for value in (*values, *thresholds) if value > 0] or [1.0]
    low, high, still = min(positive), max(positive), 0 in values
    floor = low / 3
    axes.set_yscale("log")
    axes.set_ylim(floor / 1.4 if still else low / 1.7, high * 2)
    ticks = kit.decades(low / 1.7, high * 2, most=6)
    axes.set_yticks(ticks, [change(tick) for tick in ticks])
    axes.yaxis.set_minor_locator(NullLocator())
    if still:
        axes.axhline(floor, color=MUTED, linewidth=0.8)
        _label_right(axes, floor, "no change", MUTED)
    return floor


def _label_right(axes: Axes, y: float, text: str, colour: str) -> None:
    """A word at the right end of a horizontal line, where no curve can cross it."""
    _outside(axes, text, (1, y), (4, 0), axes.get_yaxis_transform(), colour, va="center")


def _outside(
    axes: Axes, text: str, at: tuple[float, float], shift: tuple[int, int], where: Any, colour: str, **aligned: str
) -> None:
    options: dict[str, Any] = {"textcoords": "offset points", "annotation_clip": False, "color": colour, **aligned}
    axes.annotate(text, at, xytext=shift, xycoords=where, **options)
