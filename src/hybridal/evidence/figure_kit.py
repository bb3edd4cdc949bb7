"""What figures share: panels, legends, marks, scales, and curves over rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from hybridal.core.facts import Round
from hybridal.evidence.formats import plain
from hybridal.evidence.history import Histories
from hybridal.evidence.names import distinct_markers, distinct_names, look, method_names
from hybridal.evidence.style import COLUMN, INK, MUTED, SURFACE, new_figure

# Width in inches of a figure across two columns; its text has the same size.
FULL = 2 * COLUMN + 0.4
DASHED, DOTTED, DASHDOT = (0, (4, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5))
UNITS = {"steps": "optimiser steps", "seconds": "training seconds"}
STAR_KEY: dict[str, Any] = {"marker": "*", "markersize": 10, "color": INK}
# On a fixed background text must not follow the page, as the inks of the style do.
ON_LIGHT, ON_DARK = "#15181d", "#fdfdfd"


# Panels and legends.


def is_full(width: float) -> bool:
    return width > 1.5 * COLUMN


def columns_of(count: int, width: float) -> int:
    return min(count, 4) if is_full(width) else 1 + (count > 3)


def paneled(
    count: int, width: float, height: float, legend: float = 0.0, polar: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure with panels of this height: one or two of them below each other in a column, side by side across two
    columns; many in as many columns as fit."""
    columns = columns_of(count, width)
    rows = -(-count // columns)
    figure = new_figure(rows * height + legend, width)
    grid = figure.subplots(rows, columns, squeeze=False, subplot_kw={"projection": "polar"} if polar else None)
    for spare in grid.flat[count:]:
        spare.remove()
    return figure, list(grid.flat[:count])


def label_outside(panels: Sequence[Axes], width: float, x: str, y: str = "") -> None:
    """Names the axes once: below the lowest panels, and left of the leftmost."""
    columns = columns_of(len(panels), width)
    for at, axes in enumerate(panels):
        axes.set_xlabel(x if at >= len(panels) - columns else "")
        axes.set_ylabel(y if at % columns == 0 else "")


def key(label: str, **look_of_it: Any) -> Line2D:
    """A legend's entry that is no schedule's."""
    return Line2D([], [], **({"color": MUTED, "linestyle": "none", "label": label} | look_of_it))


def method_keys(specs: Sequence[str], short: bool = False) -> list[Line2D]:
    """A legend's entries for schedules; short ones name hybrids by their signal alone."""
    names, shapes = method_names(specs, short), distinct_markers(specs)
    return [
        Line2D([], [], color=look(spec).light, linewidth=2, marker=shapes[spec], label=names[spec]) for spec in specs
    ]


def legend_room(keys: Sequence[Line2D], width: float) -> float:
    """Inches that a legend needs."""
    return _legend_shape(keys, width)[1] if keys else 0.0


def legend(figure: Figure, keys: Sequence[Line2D], width: float) -> None:
    """One legend for all panels, below them."""
    if keys:
        figure.legend(handles=list(keys), loc="outside lower center", ncols=_legend_shape(keys, width)[0])


def _legend_shape(keys: Sequence[Line2D], width: float) -> tuple[int, float]:
    widest = 0.47 + 0.07 * max(len(str(entry.get_label())) for entry in keys)
    fit = max(1, min(len(keys), int((width + 0.07) / widest)))
    rows = -(-len(keys) // fit)
    return -(-len(keys) // rows), 0.19 * rows + 0.12


# Marks, scales and colours.


def mark(axes: Axes, x: float, y: float, shape: str, size: float, colour: str, label: str = "") -> None:
    """One point, with a rim that keeps it apart from what lies below it."""
    rim: dict[str, Any] = {"markeredgecolor": SURFACE, "markeredgewidth": 0.7, "linestyle": "none", "zorder": 4}
    axes.plot([x], [y], marker=shape, markersize=size, color=colour, label=label, **rim)


def marks(axes: Axes, at: Sequence[tuple[float, float]], marker: str, colour: str, face: str, size: float) -> None:
    """Marks without a line, above all lines."""
    look_of_it: dict[str, Any] = {"markerfacecolor": face, "linestyle": "none", "zorder": 3}
    axes.plot([x for x, _ in at], [y for _, y in at], marker=marker, markersize=size, color=colour, **look_of_it)


def star(axes: Axes, x: float, y: float, colour: str, size: float = 11) -> None:
    """Where a schedule switched."""
    mark(axes, x, y, "*", size, colour, "switch")


def sorted_sizes(count: int, largest: float = 9.0, smallest: float = 5.0) -> list[float]:
    """Marker sizes that fall: of marks in one place, all stay visible.

    >>> sorted_sizes(3), sorted_sizes(1)
    ([9.0, 7.0, 5.0], [9.0])
    """
    return [largest - (largest - smallest) * at / max(count - 1, 1) for at in range(count)]


def widths(specs: Sequence[str]) -> dict[str, float]:
    """Line widths that fall from the first to the last: curves that lie on top of each other all stay visible."""
    extra = 1.9 if len(specs) > 1 else 0.0
    return {spec: 1.5 + extra * (1 - at / max(len(specs) - 1, 1)) for at, spec in enumerate(specs)}


def nothing(axes: Axes, why: str) -> None:
    """Says in the figure's place why there is nothing to see."""
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", color=INK)
    axes.set_yticks([])


def thousands(axes: Axes, axis: str = "x", most: int = 6) -> None:
    """Large whole numbers, few of them."""
    chosen = axes.xaxis if axis == "x" else axes.yaxis
    chosen.set_major_locator(MaxNLocator(nbins=most, min_n_ticks=2, steps=[1, 2, 2.5, 5, 10]))
    chosen.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value == int(value) else f"{value:g}"))


def decades(low: float, high: float, most: int = 5) -> list[float]:
    """Powers of ten between two numbers, not too many; where there are fewer than two, also their 2 and 5 fold.

    >>> decades(0.003, 20), decades(0.15, 0.9)
    ([0.01, 0.1, 1.0, 10.0], [0.2, 0.5])
    """
    whole = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    powers = [float(f"1e{power}") for power in whole if low <= float(f"1e{power}") <= high]
    if len(powers) > 1:
        return powers[:: 1 + len(powers) // (most + 1)]
    return [float(f"{digit}e{power}") for power in whole for digit in (1, 2, 5) if low <= digit * 10.0**power <= high]


def shades() -> Colormap:
    """Few to many: a way from light blue to dark that also falls in grey, seen on light and dark pages."""
    return LinearSegmentedColormap.from_list("shades", ["#bcd9ee", "#5f9fd0", "#2b62a5", "#1c2a5e"])


def ink_on(red: float, green: float, blue: float) -> str:
    """The ink that can be read on a colour.

    >>> ink_on(1.0, 1.0, 0.9), ink_on(0.1, 0.1, 0.4)
    ('#15181d', '#fdfdfd')
    """
    return ON_LIGHT if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else ON_DARK


# Curves of single histories.

Measure = Callable[[Round], float | None]


def longest(histories: Histories) -> int:
    return max((len(history) for history in histories.values()), default=0)


def names_of(histories: Histories) -> dict[str, str]:
    """The schedules' names, as long as a figure can take."""
    return {spec: plain(name, 32) for spec, name in distinct_names(histories).items()}


def curve(axes: Axes, found: Sequence[tuple[Round, float]], spec: str, marker: str, **line: Any) -> None:
    """One line; its markers are filled where the model was retrained, and open where it went on from before."""
    colour, size = look(spec).light, line.pop("markersize", 4.5)
    axes.plot([fact.round for fact, _ in found], [value for _, value in found], color=colour, **line)
    for face, anew in ((colour, True), (SURFACE, False)):
        chosen = [(fact.round, value) for fact, value in found if (fact.update == "retrain") == anew]
        if size:
            marks(axes, chosen, marker, colour, face, size)


def curves(axes: Axes, histories: Histories, measure: Measure, **line: Any) -> bool:
    """One line a schedule; says whether anything was there to draw."""
    markers, broad, drawn = distinct_markers(histories), widths(list(histories)), False
    for spec, history in histories.items():
        if found := [(fact, value) for fact in history if (value := measure(fact)) is not None]:
            curve(axes, found, spec, markers[spec], **{"linewidth": broad[spec], **line})
            drawn = True
    return drawn


def labels_above(axes: Axes, histories: Histories) -> None:
    """A second x axis with the number of labels, where all histories agree on it."""
    labels = {(fact.round, fact.labels) for history in histories.values() for fact in history}
    by_round = dict(labels)
    if not labels or len(labels) != len(by_round):
        return
    shown = [round for round in axes.get_xticks().astype(int).tolist() if round in by_round]
    above = axes.secondary_xaxis("top")
    above.set_xticks(shown, [f"{by_round[round]:,}" for round in shown])
    above.set_xlabel("labels", labelpad=5)
    above.spines["top"].set_visible(False)


def rounds_room(histories: Histories) -> float:
    """Inches that a legend of all these schedules needs."""
    return 0.0 if len(histories) == 1 else 0.19 * -(-(len(histories) + 4) // _columns(names_of(histories).values()))


def _columns(names: Iterable[str]) -> int:
    return 1 if max(map(len, names), default=0) > 22 else 2


def rounds_legend(figure: Figure, histories: Histories, extra: Sequence[Line2D] = (), shapes: bool = True) -> None:
    """One legend below the figure: schedules where there are several, then what the line styles mean."""
    names, markers = names_of(histories), distinct_markers(histories)
    many = len(histories) > 1
    handles = [
        Line2D([], [], color=look(spec).light, marker=markers[spec], linewidth=2.2, label=names[spec])
        for spec in histories
        if many
    ]
    updates = {fact.update == "retrain" for history in histories.values() for fact in history}
    if shapes and len(updates) > 1:
        handles += [key("retrained", marker="o"), key("not retrained", marker="o", markerfacecolor=SURFACE)]
    handles += extra
    if handles:
        columns = _columns(str(handle.get_label()) for handle in handles)
        figure.legend(handles=handles, loc="outside lower center", ncols=3 if len(handles) == 3 else columns)
