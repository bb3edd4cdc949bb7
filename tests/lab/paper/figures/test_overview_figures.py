from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from hybridal.lab.paper.figures.overview_figures import pareto_plane, radar, violins
from hybridal.reports.figure_style import INK, MUTED

from ...reports.studies import CLASSES
from .conftest import Made
from .reading import close, figure_of, heights, line, marked, outline, points, titles, words_of
from .test_curve_figures import SHOWN


def test_axes_go_from_the_worst_to_the_best_of_each_task(main: Made) -> None:
    figure = figure_of(radar(main.fair))
    assert figure is not None
    runs = main.results.runs[main.results.runs["schedule"].isin(SHOWN)]
    tasks = list(runs["task"].unique())
    for axes, source in zip(figure.axes, ("steps", "test_nll"), strict=True):
        means = {
            (task, spec): float(runs.loc[(runs["task"] == task) & (runs["schedule"] == spec), source].mean())
            for task in tasks
            for spec in SHOWN
        }
        for spec in SHOWN:
            expected = []
            for task in tasks:
                worst, best = max(means[task, s] for s in SHOWN), min(means[task, s] for s in SHOWN)
                expected.append((worst - means[task, spec]) / (worst - best))
            assert heights(line(axes, spec)) == pytest.approx([*expected, expected[0]])
        assert [label.get_text() for label in axes.get_xticklabels()][:2] == ["IMDb", "SST-2"]


def test_equal_schedules_are_all_best(main: Made) -> None:
    from dataclasses import replace

    same = replace(main.fair, runs=main.fair.runs.assign(steps=100))
    figure = figure_of(radar(same))
    assert figure is not None
    assert set(heights(line(figure.axes[0], "retrain"))) == {1.0}


def test_alt_text_names_the_best(main: Made) -> None:
    assert "Speed: NewOnly has the largest mean" in words_of(radar(main.fair)).alt


def test_a_radar_needs_three_tasks_and_few_schedules(small: Made, signals: Made) -> None:
    assert figure_of(radar(small.fair)) is None
    assert figure_of(radar(signals.fair)) is None


def test_medians_and_quartiles_are_those_of_the_runs(main: Made) -> None:
    figure = figure_of(violins(main.fair))
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
            assert len(values) == 27
            assert close([dots[row]], [(values.median(), row)])
            low, high = values.quantile(0.25), values.quantile(0.75)
            assert close(bars[row], [(low, row), (high, row)])
            shape = outline(axes.collections[row])[:, 0]
            assert (shape.min(), shape.max()) == (pytest.approx(values.min()), pytest.approx(values.max()))


def test_few_runs_are_shown_one_by_one(small: Made) -> None:
    figure = figure_of(violins(small.fair))
    assert figure is not None
    (axes,) = figure.axes
    assert not axes.collections
    shown = [points(dot)[0][0] for dot in marked(axes, "o")]
    assert shown == small.results.runs["test_f1"].to_list()
    assert words_of(violins(small.fair)).reading.endswith("; dots are runs, bars their median.")


def test_alt_text_gives_medians(main: Made) -> None:
    assert words_of(violins(main.fair)).reading.endswith("; dots are medians, bars quartiles.")
    runs = main.results.runs
    middle = np.median(runs.loc[(runs["schedule"] == "newonly") & runs["task"].map(CLASSES).gt(2), "test_f1"])
    assert f"NewOnly {middle:.3f}" in words_of(violins(main.fair)).alt.partition("Multi-class")[2]


@pytest.mark.parametrize(
    ("cost", "column", "measure"),
    [("steps", "steps", "nll"), ("seconds", "training_time", "nll"), ("steps", "steps", "f1")],
)
def test_points_are_means_and_frontiers_are_unbeaten(
    main: Made, cost: Literal["steps", "seconds"], column: str, measure: Literal["nll", "f1"]
) -> None:
    figure = figure_of(pareto_plane(main.fair, cost, measure))
    assert figure is not None
    (axes,) = figure.axes
    sign = -1 if measure == "f1" else 1
    means = main.results.runs.groupby(["schedule", "backbone"])[[column, f"test_{measure}"]].mean()
    shown = [(str(one.get_label()), points(one)[0]) for one in axes.get_lines() if one.get_linestyle() == "None"]
    assert len(shown) == 27
    for spec in main.results.runs["schedule"].unique():
        expected = sorted((row[column], row[f"test_{measure}"]) for _, row in means.loc[spec].iterrows())
        assert close(sorted(at for label, at in shown if label == spec), expected)
    every = [at for _, at in shown]
    pooled = [at for spec, at in shown if spec != "newonly"]
    dashed, dotted = (
        points(next(one for one in axes.get_lines() if one.get_color() == colour and one.get_linestyle() == "--"))
        for colour in (INK, MUTED)
    )
    for front, all_of_them in ((dashed, every), (dotted, pooled)):
        assert front == sorted(front)
        best = [
            p
            for p in all_of_them
            if not any(q != p and q[0] <= p[0] and sign * q[1] <= sign * p[1] for q in all_of_them)
        ]
        assert set(front) == set(best)


def test_with_one_backbone_fixed_switches_are_labelled_at_their_points(small: Made) -> None:
    figure = figure_of(pareto_plane(small.fair))
    assert figure is not None
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["@3", "@5", "@7", "@10"]


def test_alt_text_lists_the_frontier_from_the_cheapest(main: Made) -> None:
    alt = words_of(pareto_plane(main.fair)).alt
    assert alt.index("NewOnly on") < alt.index("Retrain on")
    drawn = pareto_plane(main.fair, measure="f1")
    assert drawn is not None
    assert drawn.heading == "The trade between counted cost and macro-F1"
    assert drawn.alt.startswith("On the frontier of (steps, macro-F1), cheapest first: ")
