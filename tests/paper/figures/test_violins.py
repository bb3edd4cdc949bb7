from __future__ import annotations

import numpy as np
import pytest

from hybridal.paper.figures.overview import violins

from ...evidence.studies import CLASSES
from .conftest import Made
from .reading import close, figure_of, marked, outline, points, titles, words_of


def test_medians_and_quartiles_are_those_of_the_runs(main: Made) -> None:
    figure = figure_of(violins(main.results))
    assert figure is not None
    specs = list(main.results.runs["schedule"].unique())
    assert titles(figure) == ["Binary tasks", "Multi-class tasks"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()][-1] == "FixedSwitch@10"
    for axes, binary in zip(figure.axes, (True, False), strict=True):
        dots = [points(dot)[0] for dot in marked(axes, "o")]
        bars = [points(bar) for bar in axes.get_lines() if bar.get_linewidth() == 3.4]
        runs = main.results.runs[main.results.runs["task"].map(CLASSES).eq(2) == binary]
        for row, spec in enumerate(specs):
            values = runs.loc[runs["schedule"] == spec, "test_f1"]
            assert len(values) == 45
            assert close([dots[row]], [(values.median(), row)])
            low, high = values.quantile(0.25), values.quantile(0.75)
            assert close(bars[row], [(low, row), (high, row)])
            shape = outline(axes.collections[row])[:, 0]
            assert (shape.min(), shape.max()) == (pytest.approx(values.min()), pytest.approx(values.max()))


def test_few_runs_are_shown_one_by_one(small: Made) -> None:
    figure = figure_of(violins(small.results))
    assert figure is not None
    (axes,) = figure.axes
    assert not axes.collections
    shown = [points(dot)[0][0] for dot in marked(axes, "o")]
    assert shown == small.results.runs["test_f1"].to_list()
    assert words_of(violins(small.results)).reading.endswith("; dots are runs, bars their median.")


def test_words_give_medians(main: Made) -> None:
    assert words_of(violins(main.results)).reading.endswith("; dots are medians, bars quartiles.")
    runs = main.results.runs
    middle = np.median(runs.loc[(runs["schedule"] == "newonly") & runs["task"].map(CLASSES).gt(2), "test_f1"])
    assert f"NewOnly {middle:.3f}" in words_of(violins(main.results)).alt.partition("Multi-class")[2]
