from __future__ import annotations

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from hybridal.evidence.figure_kit import shades
from hybridal.evidence.names import look
from hybridal.evidence.style import GRID
from hybridal.paper.figures.switching import switch_tradeoff

from .conftest import Made
from .reading import figure_of, points, words_of


def test_bars_are_mean_nll_coloured_by_the_first_round_that_fine_tuned(main: Made) -> None:
    figure = figure_of(switch_tradeoff(main.results))
    assert figure is not None
    axes, runs = figure.axes[0], main.results.runs
    switching = [spec for spec in runs["schedule"].unique() if spec.startswith(("hybrid", "fixed"))]
    nll = {spec: float(runs.loc[runs["schedule"] == spec, "test_nll"].mean()) for spec in switching}
    order = sorted(switching, key=lambda spec: nll[spec])
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert [bar.get_width() for bar in bars] == pytest.approx([nll[spec] for spec in order])
    for bar, spec in zip(bars, order, strict=True):
        first = runs.loc[runs["schedule"] == spec, "word"].str.find("F") + 1
        mean = first[first > 0].mean()
        assert bar.get_facecolor() == pytest.approx(shades()((mean - 1) / 24))
    inside = [text.get_text() for text in axes.texts]
    assert "10" in inside
    assert "3" in inside


def test_the_pure_schedules_are_lines(main: Made) -> None:
    figure = figure_of(switch_tradeoff(main.results))
    assert figure is not None
    for spec in ("retrain", "finetune"):
        (line,) = [one for one in figure.axes[0].get_lines() if one.get_color() == look(spec).light]
        runs = main.results.runs
        assert points(line)[0][0] == pytest.approx(runs.loc[runs["schedule"] == spec, "test_nll"].mean())


def test_a_schedule_that_never_switched_has_no_colour(small: Made) -> None:
    figure = figure_of(switch_tradeoff(small.results))
    assert figure is not None
    said = [text.get_text() for text in figure.axes[0].texts]
    assert "never switched" in said  # FixedSwitch@10 in eight rounds
    bar = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)][said.index("never switched") // 2]
    assert to_hex(bar.get_facecolor()) == GRID
    assert "FixedSwitch@10" in words_of(switch_tradeoff(small.results)).alt
