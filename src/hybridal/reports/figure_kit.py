"""Shared parts of figures: panels, legends, marks, scales, and curves over rounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from hybridal.core.rounds import Round
from hybridal.measures.stabilisation import Stabilisation
from hybridal.reports.display_names import distinct_markers, distinct_names, method_names, style_of
from hybridal.reports.figure_style import COLUMN, INK, MUTED, SURFACE, new_figure, styled
from hybridal.reports.history_summary import Histories
from hybridal.reports.number_formats import plain

DASHED, DOTTED, DASHDOT = (0, (4, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5))
# A legend's entry: how its line looks, and its label.
Key = dict[str, Any]
STAR_KEY: Key = {"marker": "*", "markersize": 10, "color": INK}
# On a fixed background text must not follow the page, as the inks of the style do.
ON_LIGHT, ON_DARK = "#15181d", "#fdfdfd"


# Figures, panels and legends.


@contextmanager
def drawing(height: float, keys: Sequence[Key] = ()) -> Iterator[Figure]:
    """Yield a styled figure; a legend is added below it, in addition to the height."""
    with styled():
        columns, room = _legend_shape(keys) if keys else (0, 0.0)
        figure = new_figure(height + room)
        yield figure
        if keys:
            handles = [Line2D([], [], **key) for key in keys]
            figure.legend(handles=handles, loc="outside lower center", ncols=columns)


@contextmanager
def paneled(
    count: int, height: float, keys: Sequence[Key] = (), extra: float = 0.0, **options: Any
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A drawing with panels of this height, below each other; more than three stand in two columns.

    `extra` inches are left below them.
    """
    columns = columns_of(count)
    rows = -(-count // columns)
    with drawing(rows * height + extra, keys) as figure:
        grid = figure.subplots(rows, columns, squeeze=False, subplot_kw=options)
        for spare in grid.flat[count:]:
            spare.remove()
        yield figure, list(grid.flat[:count])


def columns_of(count: int) -> int:
    return 1 + (count > 3)


def label_outside(panels: Sequence[Axes], x: str, y: str = "") -> None:
    """Names the axes once: below the lowest panels, and left of the leftmost."""
    columns = columns_of(len(panels))
    for at, axes in enumerate(panels):
        axes.set_xlabel(x if at >= len(panels) - columns else "")
        axes.set_ylabel(y if at % columns == 0 else "")


def key(label: str, **look_of_it: Any) -> Key:
    """Return a legend entry that is not a schedule."""
    return {"color": MUTED, "linestyle": "none", "label": label} | look_of_it


def method_keys(specs: Iterable[str], short: bool = False) -> list[Key]:
    """A legend's entries for schedules; short ones name hybrids by their signal alone."""
    names = method_names(specs, short)
    shapes = distinct_markers(names)
    return [
        {"color": style_of(spec).light, "linewidth": 2, "marker": shapes[spec], "label": name}
        for spec, name in names.items()
    ]


def _legend_shape(keys: Sequence[Key]) -> tuple[int, float]:
    """The columns of a legend, and its height in inches."""
    widest = 0.47 + 0.07 * max(len(key["label"]) for key in keys)
    fit = max(1, min(len(keys), int((COLUMN + 0.07) / widest)))
    rows = -(-len(keys) // fit)
    return -(-len(keys) // rows), 0.19 * rows + 0.12


# Marks, scales and colours.


def mark(axes: Axes, x: float, y: float, shape: str, size: float, colour: str, label: str = "") -> None:
    """Draw one point with a rim that separates it from what lies below."""
    rim: dict[str, Any] = {"markeredgecolor": SURFACE, "markeredgewidth": 0.7, "linestyle": "none", "zorder": 4}
    axes.plot([x], [y], marker=shape, markersize=size, color=colour, label=label, **rim)


def star(axes: Axes, x: float, y: float, colour: str, size: float = 11) -> None:
    """Mark where a schedule switched."""
    mark(axes, x, y, "*", size, colour, "switch")


def marked_line(
    axes: Axes, points: Sequence[tuple[float, float, bool]], colour: str, marker: str, size: float, **line: Any
) -> None:
    """A line through points (x, y, filled or open), and their marks above all lines."""
    axes.plot([x for x, _, _ in points], [y for _, y, _ in points], color=colour, **line)
    for face, filled in ((colour, True), (SURFACE, False)) if size else ():
        chosen = [(x, y) for x, y, full in points if full == filled]
        options: dict[str, Any] = {"markerfacecolor": face, "linestyle": "none", "zorder": 3}
        xs, ys = [x for x, _ in chosen], [y for _, y in chosen]
        axes.plot(xs, ys, marker=marker, markersize=size, color=colour, **options)


def stable_points(
    changes: Sequence[float | None], detector: Stabilisation | None, floor: float = 0.0
) -> list[tuple[float, float, bool]]:
    """The changes by round, and whether each is stable; those below the floor are lifted to it."""
    streaks = detector.streaks(changes) if detector else [0] * len(changes)
    rounds = zip(changes, streaks, strict=True)
    return [(t, max(value, floor), streak > 0) for t, (value, streak) in enumerate(rounds, 1) if value is not None]


def rows(axes: Axes, names: Sequence[str], top: float = -0.5) -> None:
    """Names down the y axis, from the first to the last, and no lines between them."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, top)
    axes.grid(axis="y", visible=False)


def hide_grid_and_frame(axes: Axes) -> None:
    """No grid and no frame."""
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def widths(specs: Sequence[str]) -> dict[str, float]:
    """Line widths that fall from the first to the last: curves that lie on top of each other all stay visible."""
    extra = 1.9 if len(specs) > 1 else 0.0
    return {spec: 1.5 + extra * (1 - at / max(len(specs) - 1, 1)) for at, spec in enumerate(specs)}


def write_no_data(axes: Axes, why: str) -> None:
    """Write in the empty axes why there is no data."""
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", va="center", color=INK)
    axes.set_yticks([])


def thousands(axes: Axes, axis: str = "x") -> None:
    """Large whole numbers, few of them."""
    chosen = axes.xaxis if axis == "x" else axes.yaxis
    chosen.set_major_locator(MaxNLocator(nbins=6, min_n_ticks=2, steps=[1, 2, 2.5, 5, 10]))
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
    """A colour map from light to dark blue, monotonic in grey, visible on light and dark pages."""
    return LinearSegmentedColormap.from_list("shades", ["#bcd9ee", "#5f9fd0", "#2b62a5", "#1c2a5e"])


def ink_on(red: float, green: float, blue: float) -> str:
    """The ink that can be read on a colour."""
    return ON_LIGHT if 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 else ON_DARK


# Curves of single histories.


def longest(histories: Histories) -> int:
    return max((len(history) for history in histories.values()), default=0)


def names_of(histories: Histories) -> dict[str, str]:
    """The schedules' names, as long as a figure can take."""
    return {spec: plain(name, 32) for spec, name in distinct_names(histories).items()}


def curves(axes: Axes, found: Mapping[str, Sequence[tuple[Round, float]]], **line: Any) -> bool:
    """Draw one line per schedule, with filled markers for retrained rounds and open ones for others.

    Returns whether there was anything to draw.
    """
    markers, broad, size = distinct_markers(found), widths(list(found)), line.pop("markersize", 4.5)
    for spec, values in found.items():
        points = [(record.round, value, record.update == "retrain") for record, value in values]
        if points:
            marked_line(axes, points, style_of(spec).light, markers[spec], size, **{"linewidth": broad[spec], **line})
    return any(found.values())


def labels_above(axes: Axes, histories: Histories) -> None:
    """A second x axis with the number of labels, where all histories agree on it."""
    labels = {(record.round, record.labels) for history in histories.values() for record in history}
    by_round = dict(labels)
    if not labels or len(labels) != len(by_round):
        return
    shown = [round for round in axes.get_xticks().astype(int).tolist() if round in by_round]
    above = axes.secondary_xaxis("top")
    above.set_xticks(shown, [f"{by_round[round]:,}" for round in shown])
    above.set_xlabel("labels", labelpad=5)
    above.spines["top"].set_visible(False)


def legend_height(histories: Histories) -> float:
    """Inches that a legend of all these schedules needs."""
    return 0.0 if len(histories) == 1 else 0.19 * -(-(len(histories) + 4) // _columns(names_of(histories).values()))


def _columns(names: Iterable[str]) -> int:
    return 1 if max(map(len, names), default=0) > 22 else 2


def rounds_legend(figure: Figure, histories: Histories, extra: Sequence[Key] = (), shapes: bool = True) -> None:
    """One legend below the figure: schedules where there are several, then what the line styles mean."""
    keys: list[Key] = []
    if len(histories) > 1:
        markers = distinct_markers(histories)
        for spec, name in names_of(histories).items():
            keys.append({"color": style_of(spec).light, "marker": markers[spec], "linewidth": 2.2, "label": name})
    updates = {record.update == "retrain" for history in histories.values() for record in history}
    if shapes and len(updates) > 1:
        keys += [key("retrained", marker="o"), key("not retrained", marker="o", markerfacecolor=SURFACE)]
    keys += extra
    if keys:
        columns = 3 if len(keys) == 3 else _columns(key["label"] for key in keys)
        handles = [Line2D([], [], **key) for key in keys]
        figure.legend(handles=handles, loc="outside lower center", ncols=columns)
