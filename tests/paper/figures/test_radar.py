from __future__ import annotations

from typing import Literal

import pytest

from hybridal.paper.figures.overview import radar

from .conftest import Made
from .reading import figure_of, heights, line, words_of
from .test_trajectories import SHOWN


@pytest.mark.parametrize(("cost", "column"), [("steps", "steps"), ("seconds", "training_time")])
def test_axes_go_from_the_worst_to_the_best_of_each_task(
    main: Made, cost: Literal["steps", "seconds"], column: str
) -> None:
    figure = figure_of(radar(main.results, cost))
    assert figure is not None
    runs = main.results.runs[main.results.runs["schedule"].isin(SHOWN)]
    tasks = list(runs["task"].unique())
    for axes, source in zip(figure.axes, (column, "test_nll"), strict=True):
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

    same = replace(main.results, runs=main.results.runs.assign(steps=100))
    figure = figure_of(radar(same))
    assert figure is not None
    assert set(heights(line(figure.axes[0], "retrain"))) == {1.0}


def test_words_name_the_best(main: Made) -> None:
    assert "Speed: NewOnly has the largest mean" in words_of(radar(main.results)).alt


def test_a_radar_needs_three_tasks_and_few_schedules(small: Made, signals: Made) -> None:
    assert figure_of(radar(small.results)) is None
    assert figure_of(radar(signals.results)) is None
