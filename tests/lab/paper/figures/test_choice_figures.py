from __future__ import annotations

import pytest
from matplotlib.collections import LineCollection

from hybridal.lab.paper.figures.choice_figures import cross_sections, sensitivity, tuned_signals, what_varies
from hybridal.lab.study.study_presets import preset

from .conftest import Made, Maker
from .reading import band, close, figure_of, heights, line, marked, points, titles, words_of

EPSILONS = {"alpha": [5e-5, 1e-4, 1.5e-4, 2e-4], "accuracy": [5e-3, 1e-2, 1.5e-2, 2e-2]}


@pytest.mark.parametrize("signal", EPSILONS)
def test_lines_are_the_grid_and_the_star_the_rules_choice(tuning: Made, signal: str) -> None:
    drawn = words_of(cross_sections(tuning.fair, signal, tuned_signals(tuning.fair)[signal]))
    runs = tuning.results.runs
    columns = ("validation_f1", "validation_nll", "steps")
    means = {
        (epsilon, k): [
            float(runs.loc[runs["schedule"] == f"hybrid:{signal}:{epsilon!r}:{k}", column].mean()) for column in columns
        ]
        for epsilon in EPSILONS[signal]
        for k in (2, 3, 5, 7)
    }
    assert runs["schedule"].value_counts().unique().tolist() == [6]
    top = max(f1 for f1, _, _ in means.values())
    kept = {pair: values for pair, values in means.items() if values[0] >= 0.995 * top}
    nll, cost = min(v[1] for v in kept.values()), min(v[2] for v in kept.values())
    best = min(kept, key=lambda pair: kept[pair][2] / cost + 0.5 * kept[pair][1] / nll)
    for panel, axes in enumerate(drawn.figure.axes):
        for k in (2, 3, 5, 7):
            expected = [(epsilon, means[epsilon, k][panel]) for epsilon in EPSILONS[signal]]
            assert close(points(line(axes, str(k))), expected)
        (star,) = marked(axes, "*")
        assert close(points(star), [(best[0], means[best][panel])])
    assert f"Chosen: ε = {best[0]:.4g}, k = {best[1]} with" in drawn.alt


def test_only_grids_are_drawn(main: Made, tuning: Made) -> None:
    assert list(tuned_signals(tuning.fair)) == ["alpha", "accuracy"]
    assert tuned_signals(main.fair) == {}


SIZES = ["100", "500", "1000", "2000", "5000", "10000", "20000", "all"]


def test_curves_are_means_over_seeds_with_one_deviation(subset_size: Made) -> None:
    figure = figure_of(sensitivity(subset_size.results))
    assert figure is not None
    assert titles(figure) == ["IMDb", "SST-2"]
    runs = subset_size.results.runs
    for axes, task in zip(figure.axes, ("imdb", "sst2"), strict=True):
        for spec in ("retrain", "finetune"):
            own = runs[(runs["task"] == task) & (runs["schedule"] == spec)]
            values = [own.loc[own["variant"] == f"candidates={size}", "test_f1"] for size in SIZES]
            assert [len(one) for one in values] == [3] * 8
            assert heights(line(axes, spec)) == pytest.approx([one.mean() for one in values])
            drawn = band(axes, f"band of {spec}")
            assert [drawn[at][1] - drawn[at][0] for at in range(8)] == pytest.approx([2 * one.std() for one in values])
        shown = [label.get_text() for label in axes.get_xticklabels()]
        assert shown == ["100", "500", "1000", "2000", "5000", "10k", "20k", "all"]
        (usual,) = [one for one in axes.get_lines() if len(one.get_xdata()) == 2]  # type: ignore[arg-type]
        assert list(usual.get_xdata()) == [2, 2]  # type: ignore[arg-type]


def test_values_without_an_order_are_not_joined(make: Maker) -> None:
    made = make(preset("samplers").shrunk(tasks=("imdb",), seeds=(1, 2, 3), rounds=3))
    figure = figure_of(sensitivity(made.results))
    assert figure is not None
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["entropy", "random", "badge"]
    assert line(axes, "retrain").get_linestyle() == "None"
    runs = made.results.runs
    own = runs[runs["schedule"] == "retrain"].groupby("acquisition", sort=False)["test_f1"]
    assert heights(line(axes, "retrain")) == pytest.approx(own.mean().to_list())
    (deviation, _) = [one for one in axes.collections if isinstance(one, LineCollection)]
    lengths = [segment[1][1] - segment[0][1] for segment in deviation.get_segments()]
    assert lengths == pytest.approx((2 * own.std()).to_list())


def test_two_seeds_have_no_deviation(make: Maker) -> None:
    made = make(preset("pool-size").shrunk(tasks=("imdb",), seeds=(1, 2), rounds=3))
    figure = figure_of(sensitivity(made.results))
    assert figure is not None
    assert not figure.axes[0].collections


def test_varied_factor_is_found() -> None:
    assert what_varies(preset("main")) is None
    several = what_varies(preset("early-stopping"))
    assert several is not None
    assert list(several.values.values()) == ["max_epochs 5\nstop_after none", "max_epochs 10\nstop_after 2"]
    flag = what_varies(preset("temperature"))
    assert flag is not None
    assert (list(flag.values.values()), flag.usual, flag.ordered) == (["no", "yes"], 0, False)


def test_study_of_one_setting_has_no_figure(main: Made) -> None:
    assert figure_of(sensitivity(main.results)) is None


def test_alt_text_gives_every_mean(subset_size: Made) -> None:
    words = words_of(sensitivity(subset_size.results))
    runs = subset_size.results.runs
    own = runs[(runs["task"] == "sst2") & (runs["schedule"] == "finetune") & (runs["variant"] == "candidates=all")]
    assert words.alt.endswith(f"and {own['test_f1'].mean():.3f}.")
