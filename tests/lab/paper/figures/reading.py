"""What a figure shows, read back from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hybridal.reports.figure_style import Drawn


def line(axes: Axes, label: str) -> Line2D:
    """The one line of this label."""
    (found,) = [one for one in axes.get_lines() if one.get_label() == label]
    return found


def points(found: Line2D) -> list[tuple[float, float]]:
    xs, ys = np.asarray(found.get_xdata(), dtype=float), np.asarray(found.get_ydata(), dtype=float)
    return list(zip(xs.tolist(), ys.tolist(), strict=True))


def close(found: Sequence[tuple[float, float]], expected: Sequence[tuple[float, float]]) -> bool:
    """Whether these are the same points up to rounding."""
    return len(found) == len(expected) and np.allclose(found, expected, rtol=1e-9, atol=0)


def outline(collection: Collection) -> Any:
    """The corners of a filled shape, a row each."""
    return np.concatenate([np.asarray(path.vertices, dtype=float) for path in collection.get_paths()])


def heights(found: Line2D) -> list[float]:
    return [y for _, y in points(found)]


def marked(axes: Axes, marker: str) -> list[Line2D]:
    return [one for one in axes.get_lines() if one.get_marker() == marker]


def band(axes: Axes, label: str) -> dict[float, tuple[float, float]]:
    """The low and high end of a band, by x."""
    (found,) = [one for one in axes.collections if one.get_label() == label]
    corners = outline(found)
    return {
        float(x): (float(corners[corners[:, 0] == x, 1].min()), float(corners[corners[:, 0] == x, 1].max()))
        for x in np.unique(corners[:, 0])
    }


def titles(figure: Figure) -> list[str]:
    return [axes.get_title(loc="left") or axes.get_title() for axes in figure.axes]


def texts(figure: Figure) -> list[str]:
    """Every text in the figure that is not empty."""
    found: list[Any] = figure.findobj(match=lambda artist: hasattr(artist, "get_text"))
    return [text for artist in found if isinstance(text := artist.get_text(), str) and text]


def figure_of(drawn: Drawn | None) -> Figure | None:
    return None if drawn is None else drawn.figure


def words_of(drawn: Drawn | None) -> Drawn:
    assert drawn is not None
    return drawn
