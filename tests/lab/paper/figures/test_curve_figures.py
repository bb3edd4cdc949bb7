from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from matplotlib.figure import Figure

from hybridal.lab.paper.figures.curve_figures import Curve, draw_curves, trajectories, zoom
from hybridal.lab.study.study_presets import preset

from ...reports.studies import CLASSES
from .conftest import Made, Maker
from .reading import band, figure_of, heights, line, marked, points, titles, words_of

SHOWN = ["retrain", "finetune", "newonly", "hybrid:alpha:0.0001:3", "hybrid:accuracy:0.005:2"]


@pytest.mark.parametrize("measure", ["f1", "nll"])
def test_lines_bands_and_stars_are_the_means(main: Made, measure: Literal["f1", "nll"]) -> None:
    figure = figure_of(trajectories(main.fair, measure))
    assert figure is not None
    runs, rounds = main.results.runs, main.results.rounds
    for axes, binary in zip(figure.axes, (True, False), strict=True):
        inside = [task for task, classes in CLASSES.items() if (classes == 2) == binary]
        for spec in SHOWN:
            own = rounds[(rounds["schedule"] == spec) & rounds["task"].isin(inside)]
            table = own.pivot(index="round", columns=["task", "backbone", "seed"], values=f"validation_{measure}")
            assert table.shape == (25, 27)
            mean, sem = table.mean(axis=1), table.std(axis=1, ddof=1) / np.sqrt(27)
            assert heights(line(axes, spec)) == pytest.approx(mean.to_list())
            drawn = band(axes, f"band of {spec}")
            assert [drawn[float(t)][0] for t in table.index] == pytest.approx((mean - sem).to_list())
            assert [drawn[float(t)][1] for t in table.index] == pytest.approx((mean + sem).to_list())
        stars = [points(star)[0] for star in marked(axes, "*")]
        ends = runs[runs["task"].isin(inside)]
        assert len(stars) == 2
        for spec, (x, y) in zip(SHOWN[3:], stars, strict=True):
            t_star = ends.loc[ends["schedule"] == spec, "t_star"].mean()
            assert x == pytest.approx(t_star)
            assert y == pytest.approx(np.interp(t_star, range(1, 26), heights(line(axes, spec))))


@pytest.mark.parametrize("measure", ["f1", "nll"])
def test_the_inset_zooms_on_the_last_rounds_and_covers_no_curve(main: Made, measure: Literal["f1", "nll"]) -> None:
    figure = figure_of(trajectories(main.fair, measure))
    assert figure is not None
    figure.draw_without_rendering()
    for axes in figure.axes:
        (inset,) = axes.child_axes
        low, high = inset.get_xlim()
        assert low < 15 < 25 < high
        assert low > 14
        box = inset.get_window_extent()
        for spec in SHOWN:
            pixels = axes.transData.transform(points(line(axes, spec)))
            assert not any(box.contains(x, y) for x, y in pixels)


def test_fixed_switches_are_left_out(main: Made) -> None:
    figure = figure_of(trajectories(main.fair))
    assert figure is not None
    assert not [one for one in figure.axes[0].get_lines() if str(one.get_label()).startswith("fixed")]


def test_few_seeds_have_no_band_and_few_rounds_no_inset(small: Made) -> None:
    figure = figure_of(trajectories(small.fair))
    assert figure is not None
    (axes,) = figure.axes
    assert (len(axes.collections), len(axes.child_axes)) == (0, 0)
    records = small.results.rounds
    assert heights(line(axes, "newonly")) == records.loc[records["schedule"] == "newonly", "validation_f1"].to_list()


def test_two_seeds_have_no_band_and_three_have(make: Maker) -> None:
    for seeds, bands in (((1, 2), 0), ((1, 2, 3), 2)):
        made = make(preset("samplers").shrunk(tasks=("imdb",), acquisitions=("entropy",), seeds=seeds, rounds=4))
        figure = figure_of(trajectories(made.fair))
        assert figure is not None
        assert len(figure.axes[0].collections) == bands


def test_many_curves_have_no_bands(signals: Made) -> None:
    figure = figure_of(trajectories(signals.fair))
    assert figure is not None
    assert not figure.axes[0].collections
    assert "standard error" not in words_of(trajectories(signals.fair)).reading


def test_unknown_numbers_of_classes_make_one_panel(make: Maker) -> None:
    made = make(preset("main").shrunk(tasks=("imdb", "yahoo"), backbones=("tiny",), seeds=(1,), rounds=3))
    for file in made.folder.path.glob("tasks/*/task.json"):
        file.unlink()
    figure = figure_of(trajectories(made.fair))
    assert figure is not None
    assert titles(figure) == ["All tasks: validation macro-F1"]


def test_alt_text_gives_the_last_values(main: Made) -> None:
    words = words_of(trajectories(main.fair, "nll"))
    rounds = main.results.rounds
    end = rounds[(rounds["round"] == 25) & (rounds["schedule"] == "retrain") & rounds["task"].map(CLASSES).eq(2)]
    assert f"Retrain {end['validation_nll'].mean():.3f}" in words.alt
    assert "54 runs a schedule with ±1 standard error" in words.reading


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
