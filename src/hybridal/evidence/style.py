"""One style for all figures: sizes, inks and grid, for a column of a page or of a paper."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hybridal.evidence.names import LOOKS

# Width in inches of a figure that is as wide as a column; at that width the text has 9 points.
COLUMN = 4.2

# Inks that are no schedule's, on a light and on a dark page.
INKS = {
    "ink": ("#1f2430", "#e7eaf0"),
    "muted": ("#5d6675", "#a3adbb"),
    "grid": ("#dfe3e9", "#343b47"),
    "surface": ("#ffffff", "#171b22"),
    "phase-train": ("#3b6fb6", "#6fa3ea"),
    "phase-validate": ("#86b3e3", "#b6d4f5"),
    "phase-score": ("#d99a2b", "#f0bf62"),
    "phase-select": ("#8c6bb1", "#bba1db"),
    "phase-signal": ("#2f9e83", "#5fcfb2"),
    "phase-test": ("#98a2b0", "#7d8896"),
}
INK, MUTED, GRID, SURFACE = (INKS[name][0] for name in ("ink", "muted", "grid", "surface"))

_RC: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 7,
    "axes.labelsize": 9,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.columnspacing": 1.4,
    "lines.linewidth": 1.7,
    "lines.markersize": 4.5,
    "lines.solid_capstyle": "round",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.linewidth": 0.8,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "ytick.minor.size": 0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "grid.color": GRID,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    # A name is a name, whatever dollars it contains.
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "hybridal",
}
# matplotlib keeps its parameters for the whole process; reports may be written by several threads of an app.
_LOCK = threading.RLock()


@contextmanager
def styled() -> Iterator[None]:
    """Within this block figures are made, and saved, in the house's style; nothing stays changed after it.

    >>> before = mpl.rcParams["font.size"]
    >>> with styled():
    ...     mpl.rcParams["font.size"]
    9.0
    >>> mpl.rcParams["font.size"] == before
    True
    """
    with _LOCK, mpl.rc_context():
        # From matplotlib's own defaults, so that no user's style shines through. Touching the backend loads pyplot.
        defaults: dict[Any, Any] = {
            name: value for name, value in mpl.rcParamsDefault.items() if not name.startswith("backend")
        }
        mpl.rcParams.update(defaults | _RC)
        yield


def new_figure(height: float, width: float = COLUMN) -> Figure:
    """An empty figure of this many inches, whose parts make room for each other.

    >>> with styled():
    ...     new_figure(3.0).get_size_inches().tolist()
    [4.2, 3.0]
    """
    return Figure(figsize=(width, height), layout="constrained")


def whole_rounds(axes: Axes, rounds: int) -> None:
    """An x axis of rounds: whole numbers, from the first to the last."""
    axes.set_xlim(0.5, max(rounds, 1) + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("round")


def colours() -> dict[str, tuple[str, str]]:
    """Every colour that a figure may use, by name: on a light and on a dark page.

    >>> colours()["retrain"], colours()["ink"]
    (('#1577c8', '#7cc4ff'), ('#1f2430', '#e7eaf0'))
    """
    return INKS | {look.token: (look.light, look.dark) for look in LOOKS.values()}
