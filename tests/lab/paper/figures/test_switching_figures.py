from __future__ import annotations

from typing import Any

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from hybridal.lab.paper.figures.switching_figures import regret_by_signal, switch_tradeoff
from hybridal.lab.study.study_presets import preset
from hybridal.reports.display_names import style_of
from hybridal.reports.figure_kit import shades
from hybridal.reports.figure_style import GRID

from .conftest import Made, Maker
from .reading import close, figure_of, heights, line, points, words_of


def test_bars_are_mean_nll_coloured_by_the_first_round_that_fine_tuned(main: Made) -> None:
    figure = figure_of(switch_tradeoff(main.fair))
    assert figure is not None
    axes, runs = figure.axes[0], main.results.runs
    switching = [spec for spec in runs["schedule"].unique() if spec.startswith(("hybrid", "fixed"))]
    nll = {spec: float(runs.loc[runs["schedule"] == spec, "test_nll"].mean()) for spec in switching}
    order = sorted(switching, key=lambda spec: nll[spec])
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert [bar.get_width() for bar in bars] == pytest.approx([nll[spec] for spec in order])
    for bar, spec in zip(bars, order, strict=True):
        first = runs.loc[runs["schedule"] == spec, "update_sequence"].str.find("F") + 1
        mean = first[first > 0].mean()
        assert bar.get_facecolor() == pytest.approx(shades()((mean - 1) / 24))
    inside = [text.get_text() for text in axes.texts]
    assert "10" in inside
    assert "3" in inside


def test_the_pure_schedules_are_lines(main: Made) -> None:
    figure = figure_of(switch_tradeoff(main.fair))
    assert figure is not None
    for spec in ("retrain", "finetune"):
        (line,) = [one for one in figure.axes[0].get_lines() if one.get_color() == style_of(spec).light]
        runs = main.results.runs
        assert points(line)[0][0] == pytest.approx(runs.loc[runs["schedule"] == spec, "test_nll"].mean())


def test_a_schedule_that_never_switched_has_no_colour(small: Made) -> None:
    figure = figure_of(switch_tradeoff(small.fair))
    assert figure is not None
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert "never switched" in texts  # FixedSwitch@10 in eight rounds
    bar = [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)][
        texts.index("never switched") // 2
    ]
    assert to_hex(bar.get_facecolor()) == GRID
    assert "FixedSwitch@10" in words_of(switch_tradeoff(small.fair)).alt


def test_colour_bar_labels_fit_next_to_two_bars(make: Maker) -> None:
    specs = ("retrain", "finetune", "fixed:3", "fixed:5")
    study = preset("main").shrunk(tasks=("imdb",), backbones=("tiny",), seeds=(7,), rounds=8, schedules=specs)
    figure = figure_of(switch_tradeoff(make(study).fair))
    assert figure is not None
    figure.draw_without_rendering()
    label = figure.axes[1].yaxis.label.get_window_extent()
    assert figure.bbox.y0 <= label.y0
    assert label.y1 <= figure.bbox.y1


ROUNDS = 10


def by_hand(made: Made) -> dict[tuple[str, int], dict[int, tuple[float, bool]]]:
    """By cell and switch round: the regret, and whether F1 is kept; computed from the update sequences alone."""
    found: dict[tuple[str, int], dict[int, tuple[float, bool]]] = {}
    for task, seed in made.results.runs[["task", "seed"]].drop_duplicates().to_numpy().tolist():
        own = made.results.runs[(made.results.runs["task"] == task) & (made.results.runs["seed"] == seed)]
        ends: dict[int, Any] = {
            sequence.count("R") + 1: row
            for sequence, (_, row) in zip(own["update_sequence"], own.iterrows(), strict=True)
        }
        retrain, finetune = ends[ROUNDS + 1], ends[1]
        bound = max(retrain["test_f1"], finetune["test_f1"]) - 0.01
        value = {s: e["steps"] / retrain["steps"] + 0.5 * e["test_nll"] / retrain["test_nll"] for s, e in ends.items()}
        kept = {s: e["test_f1"] >= bound for s, e in ends.items()}
        best = min(value[s] for s in ends if kept[s])
        found[task, seed] = {s: (value[s] - best, bool(kept[s])) for s in ends}
    return found


def test_the_curve_and_the_marks_are_mean_regrets(switch_points: Made) -> None:
    figure = figure_of(regret_by_signal(switch_points.fair))
    assert figure is not None
    curve, kept, cells = figure.axes
    hand = by_hand(switch_points)
    assert len(hand) == 6
    means = {}
    for s in range(1, ROUNDS + 2):
        values = [cell[s][0] for cell in hand.values() if cell[s][1]]
        if values:
            means[s] = sum(values) / len(values)
    assert close(points(line(curve, "every switch round")), list(means.items()))
    shares = [sum(cell[s][1] for cell in hand.values()) / 6 for s in range(1, ROUNDS + 2)]
    assert [bar.get_height() for bar in kept.patches] == pytest.approx(shares)  # type: ignore[attr-defined]
    runs = switch_points.results.runs
    for row, spec in enumerate(("finetune", "retrain", "hybrid:alpha:0.0001:3", "hybrid:accuracy:0.005:2")):
        known = {"finetune": "fixed:1", "retrain": f"fixed:{ROUNDS + 1}"}.get(spec, spec)
        own = runs[runs["schedule"] == known]
        switches = {
            (task, seed): sequence.count("R") + 1
            for task, seed, sequence in zip(own["task"], own["seed"], own["update_sequence"], strict=True)
        }
        found = [hand[cell][s] for cell, s in switches.items()]
        good = [value for value, feasible in found if feasible]
        assert sorted(x for x, _ in points(line(cells, f"{spec} True"))) == pytest.approx(sorted(good))
        missed = [value for value, feasible in found if not feasible]
        assert sorted(x for x, _ in points(line(cells, f"{spec} False"))) == pytest.approx(sorted(missed))
        if good:
            assert close(points(line(curve, spec)), [(sum(switches.values()) / 6, sum(good) / len(good))])
        assert heights(line(cells, f"{spec} True")) == [row] * len(good)


def test_no_feasible_switch_is_better_than_the_best(switch_points: Made) -> None:
    assert min(value for cell in by_hand(switch_points).values() for value, kept in cell.values() if kept) == 0


def test_alt_text_gives_mean_regrets(switch_points: Made) -> None:
    hand = by_hand(switch_points)
    good = [cell[1][0] for cell in hand.values() if cell[1][1]]
    alt = words_of(regret_by_signal(switch_points.fair)).alt
    assert f"FineTune {sum(good) / len(good):.3f} (switch round 1.0" in alt


def test_every_switch_round_must_have_been_tried(main: Made, make: Maker) -> None:
    assert figure_of(regret_by_signal(main.fair)) is None
    study = preset("switch-points", rounds=4).shrunk(tasks=("imdb",), seeds=(1,))
    gap = tuple(spec for spec in study.schedules if spec != "fixed:3")
    made = make(study.shrunk(schedules=(*gap[:-2], "hybrid:weight-distance:0.001:2")))
    assert figure_of(regret_by_signal(made.fair)) is None
