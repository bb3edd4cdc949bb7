"""Parts that the figures of a study share: panels, one legend, bands, stars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from hybridal.evidence.looks import distinct_markers, look
from hybridal.evidence.study_figures._names import method_names
from hybridal.evidence.style import COLUMN, INK, MUTED, SURFACE, new_figure

# Width in inches of a figure across two columns; its text has the same size.
FULL = 2 * COLUMN + 0.4

DASHED, DOTTED, DASHDOT = (0, (4, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5))

# On a fixed background text must not follow the page, as the inks of the style do.
ON_LIGHT, ON_DARK = "#15181d", "#fdfdfd"


def is_full(width: float) -> bool:
    return width > 1.5 * COLUMN


def columns_of(count: int, width: float) -> int:
    return min(count, 4) if is_full(width) else 1 + (count > 3)


def label_outside(panels: Sequence[Axes], width: float, x: str, y: str = "") -> None:
    """Names the axes once: below the lowest panels, and left of the leftmost."""
    columns = columns_of(len(panels), width)
    for at, axes in enumerate(panels):
        axes.set_xlabel(x if at >= len(panels) - columns else "")
        axes.set_ylabel(y if at % columns == 0 else "")


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


def sorted_sizes(count: int, largest: float = 9.0, smallest: float = 5.0) -> list[float]:
    """Marker sizes that fall: of marks in one place, all stay visible.

    >>> sorted_sizes(3), sorted_sizes(1)
    ([9.0, 7.0, 5.0], [9.0])
    """
    return [largest - (largest - smallest) * at / max(count - 1, 1) for at in range(count)]


def legend_shape(names: Sequence[str], width: float) -> tuple[int, float]:
    """The columns of a legend of these names, and the inches that it needs."""
    widest = 0.47 + 0.07 * max(map(len, names), default=0)
    fit = max(1, min(len(names), int((width + 0.07) / widest)))
    rows = -(-len(names) // fit)
    return -(-len(names) // max(rows, 1)), 0.19 * rows + 0.12


def method_keys(specs: Sequence[str], short: bool = False) -> list[Line2D]:
    """A legend's entries for schedules; short ones name hybrids by their signal alone."""
    names, shapes = method_names(specs, short), distinct_markers(specs)
    return [
        Line2D([], [], color=look(spec).light, linewidth=2, marker=shapes[spec], label=names[spec]) for spec in specs
    ]


def key(label: str, **look_of_it: Any) -> Line2D:
    """A legend's entry that is no schedule's."""
    return Line2D([], [], **({"color": MUTED, "linestyle": "none", "label": label} | look_of_it))


def legend_room(keys: Sequence[Line2D], width: float) -> float:
    return legend_shape([str(entry.get_label()) for entry in keys], width)[1] if keys else 0.0


def legend(figure: Figure, keys: Sequence[Line2D], width: float) -> None:
    """One legend for all panels, below them."""
    if keys:
        columns, _ = legend_shape([str(entry.get_label()) for entry in keys], width)
        figure.legend(handles=list(keys), loc="outside lower center", ncols=columns)


def mark(axes: Axes, x: float, y: float, shape: str, size: float, colour: str, label: str = "") -> None:
    """One point, with a rim that keeps it apart from what lies below it."""
    axes.plot(
        [x],
        [y],
        marker=shape,
        markersize=size,
        color=colour,
        markeredgecolor=SURFACE,
        markeredgewidth=0.7,
        linestyle="none",
        zorder=4,
        label=label,
    )


def star(axes: Axes, x: float, y: float, colour: str, size: float = 11) -> None:
    """Where a schedule switched."""
    mark(axes, x, y, "*", size, colour, "switch")


STAR_KEY: dict[str, Any] = {"marker": "*", "markersize": 10, "color": INK}


def thousands(axes: Axes, axis: str = "x", most: int = 6) -> None:
    """Large whole numbers, few of them."""
    chosen = axes.xaxis if axis == "x" else axes.yaxis
    chosen.set_major_locator(MaxNLocator(nbins=most, min_n_ticks=2, steps=[1, 2, 2.5, 5, 10]))
    chosen.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value == int(value) else f"{value:g}"))


def decades(low: float, high: float) -> list[float]:
    """Powers of ten between two numbers, at most five; where there are fewer than two, also their 2 and 5 fold.

    >>> decades(0.003, 20), decades(0.15, 0.9)
    ([0.01, 0.1, 1.0, 10.0], [0.2, 0.5])
    """
    whole = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    powers = [float(f"1e{power}") for power in whole if low <= float(f"1e{power}") <= high]
    if len(powers) > 1:
        return powers[:: 1 + len(powers) // 6]
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
