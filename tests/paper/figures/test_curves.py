from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from hybridal.paper.figures.rounds import Curve, draw_curves, zoom

from .reading import heights, line, points

ROUNDS = np.arange(1.0, 21.0)


@pytest.mark.parametrize("corner", ["lower", "upper"])
@pytest.mark.parametrize("shape", [ROUNDS, -ROUNDS, np.full(20, 0.5), np.sin(ROUNDS)])
def test_no_curve_runs_through_the_inset_whatever_its_shape(corner: str, shape: np.ndarray) -> None:
    curves = {"retrain": Curve(ROUNDS, shape, None, None), "finetune": Curve(ROUNDS, shape * 1.5, None, 4.5)}
    figure = Figure()
    axes = figure.subplots()
    draw_curves(axes, curves)
    inset = zoom(axes, curves, corner)
    assert inset is not None
    figure.draw_without_rendering()
    for spec in curves:
        pixels = axes.transData.transform(points(line(axes, spec)))
        assert not any(inset.get_window_extent().contains(x, y) for x, y in pixels)
    assert heights(line(inset, "finetune")) == heights(line(axes, "finetune"))


def test_the_inset_looks_past_newonly() -> None:
    curves = {"retrain": Curve(ROUNDS, ROUNDS, None, None), "newonly": Curve(ROUNDS, ROUNDS - 100, None, None)}
    inset = zoom(Figure().subplots(), curves, "lower")
    assert inset is not None
    assert inset.get_ylim()[0] > 0


def test_eleven_rounds_need_no_inset() -> None:
    assert zoom(Figure().subplots(), {"retrain": Curve(ROUNDS[:11], ROUNDS[:11], None, None)}, "lower") is None
