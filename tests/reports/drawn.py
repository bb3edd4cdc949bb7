"""Read the numbers that a figure shows."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D


def xs(line: Line2D) -> list[float]:
    return _numbers(line.get_xdata())


def ys(line: Line2D) -> list[float]:
    return _numbers(line.get_ydata())


def bars(axes: Axes) -> list[Any]:
    return list(axes.patches)


def _numbers(data: Any) -> list[float]:
    return [float(value) for value in np.asarray(data)]
