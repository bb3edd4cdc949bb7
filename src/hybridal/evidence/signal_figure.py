"""A signal against its threshold: when had the model settled?"""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from hybridal.evidence.figure_kit import decades, key, longest, marks, nothing, rounds_legend, rounds_room, widths
from hybridal.evidence.formats import change, threshold
from hybridal.evidence.history import Histories, changes
from hybridal.evidence.names import distinct_markers, look
from hybridal.evidence.style import INK, MUTED, SURFACE, new_figure, styled, whole_rounds
from hybridal.measures.stabilisation import Stabilisation


def signal_curve(histories: Histories, signal: str, detectors: Mapping[str, Stabilisation]) -> Figure:
    """The changes of one signal on a logarithmic scale, with ε, the stable rounds and t* of each detector.

    `detectors` are by spec, as the histories are; a history without one is drawn as a line only.

    >>> signal_curve({"retrain": []}, "accuracy", {}).axes[0].texts[0].get_text()
    'no change was measured yet'
    """
    with styled():
        figure = new_figure(3.1 + rounds_room(histories))
        axes = figure.subplots()
        whole_rounds(axes, longest(histories))
        values = [value for history in histories.values() for value in changes(history, signal) if value is not None]
        if not values:
            nothing(axes, "no change was measured yet")
            return figure
        floor = _scale(axes, values, [detector.epsilon for detector in detectors.values()])
        settled: dict[int, str] = {}
        markers, broad = distinct_markers(histories), widths(list(histories))
        for spec, history in histories.items():
            found = changes(history, signal)
            detector = detectors.get(spec)
            streaks = detector.streaks(found) if detector else [0] * len(found)
            drawn = [
                (fact.round, max(value, floor), streak > 0)
                for fact, value, streak in zip(history, found, streaks, strict=True)
                if value is not None
            ]
            colour = look(spec).light
            axes.plot([x for x, _, _ in drawn], [y for _, y, _ in drawn], color=colour, linewidth=broad[spec])
            for face, stable in ((colour, True), (SURFACE, False)):
                chosen = [(x, y) for x, y, below in drawn if below == stable]
                marks(axes, chosen, markers[spec], colour, face, size=5.5)
            if detector and (t_star := detector.t_star(found)):
                settled[t_star] = colour
        for row, (t_star, colour) in enumerate(sorted(settled.items())):
            _settled(axes, t_star, colour, row % 3)
        for epsilon in sorted({detector.epsilon for detector in detectors.values()}):
            axes.axhline(epsilon, color=INK, linestyle=(0, (5, 3)), linewidth=1)
            _beside(axes, epsilon, f"ε = {threshold(epsilon)}", INK)
        extra = [key("moved", marker="o", markerfacecolor=SURFACE), key("stable (below ε)", marker="o")]
        rounds_legend(figure, histories, extra if detectors else [], shapes=False)
        return figure


def _scale(axes: Axes, values: list[float], thresholds: list[float]) -> float:
    """A logarithmic axis, because changes fall by orders of magnitude; 0 has a line of its own at the bottom."""
    positive = [value for value in (*values, *thresholds) if value > 0] or [1.0]
    low, high = min(positive), max(positive)
    still = 0 in values
    floor = low / 3
    axes.set_yscale("log")
    axes.set_ylim(floor / 1.4 if still else low / 1.7, high * 2)
    ticks = decades(low / 1.7, high * 2, most=6)
    axes.set_yticks(ticks, [change(tick) for tick in ticks])
    axes.yaxis.set_minor_locator(NullLocator())
    if still:
        axes.axhline(floor, color=MUTED, linewidth=0.8)
        _beside(axes, floor, "no change", MUTED)
    return floor


def _beside(axes: Axes, y: float, text: str, colour: str) -> None:
    """A word at the right end of a horizontal line, outside, where no curve can cross it."""
    axes.annotate(
        text,
        (1, y),
        xytext=(4, 0),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        annotation_clip=False,
        va="center",
        color=colour,
    )


def _settled(axes: Axes, t_star: int, colour: str, row: int) -> None:
    """A line at t* with its name above, in one of three rows, so that neighbours do not overlap."""
    axes.axvline(t_star, color=colour, linewidth=1, linestyle=":")
    axes.annotate(
        f"t* = {t_star}",
        (t_star, 1),
        xytext=(0, 3 + 11 * row),
        xycoords=axes.get_xaxis_transform(),
        textcoords="offset points",
        annotation_clip=False,
        ha="center",
        color=colour,
    )
