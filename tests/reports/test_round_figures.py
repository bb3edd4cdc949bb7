from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hybridal.core.rounds import Metrics, Round
from hybridal.measures.stabilisation import Stabilisation
from hybridal.reports.display_names import style_of
from hybridal.reports.figure_style import SURFACE, to_svg
from hybridal.reports.history_summary import Histories
from hybridal.reports.round_figures import (
    calibration_curves,
    learning_curve,
    phase_seconds,
    signal_curve,
    step_curve,
    strategy_strip,
)

from .drawn import bars, xs, ys
from .made_up_rounds import SPECS, histories_of, history_of, without_measures

FIGURES: list[Callable[[Histories], Figure]] = [
    learning_curve,
    calibration_curves,
    step_curve,
    phase_seconds,
    strategy_strip,
]


def lines(axes: Axes, spec: str, style: str = "-") -> list[tuple[list[float], list[float]]]:
    """What is drawn in a schedule's colour as lines of this style."""
    colour = style_of(spec).light
    drawn = [line for line in axes.get_lines() if line.get_color() == colour and line.get_linestyle() == style]
    return [(xs(line), ys(line)) for line in drawn]


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_are_drawn_with_missing_measurements(figure: Callable[[Histories], Figure]) -> None:
    empty: Histories = {"retrain": ()}
    unmeasured = {"retrain": without_measures(history_of("retrain", 1))}
    for histories in ({}, empty, unmeasured, {**histories_of("fixed:4"), **empty}):
        assert to_svg(figure(histories)).startswith("<svg")


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_are_pure(figure: Callable[[Histories], Figure]) -> None:
    first, second = (to_svg(figure(histories_of("fixed:4", "retrain", rounds=5))) for _ in range(2))
    assert first == second


def test_learning_curve_has_the_recorded_values() -> None:
    histories = histories_of(*SPECS)
    figure = learning_curve(histories)
    for axes, name in zip(figure.axes, ("accuracy", "f1"), strict=False):
        for spec, history in histories.items():
            assert (
                [float(record.round) for record in history],
                [getattr(f.validation, name) for f in history],
            ) in lines(axes, spec)
            assert lines(axes, spec, ":") == [([10.0], [getattr(history[-1].test, name)])]


def test_a_macro_f1_that_cannot_be_known_is_not_drawn() -> None:
    few = Metrics(8, 8, 1.0, 0.5, 0.1, 0.2, 0.3, 0.1, 0.2, support=(8, 0))
    history = [replace(record, validation=few, test=None) for record in history_of("retrain", 3)]
    accuracy, f1 = learning_curve({"retrain": history}).axes
    assert any(len(xs(line)) == 3 for line in accuracy.get_lines())
    assert not any(len(xs(line)) for line in f1.get_lines())


def test_the_axis_above_shows_the_labels() -> None:
    above = learning_curve(histories_of("retrain")).axes[0].child_axes[0]
    assert [label.get_text() for label in above.get_xticklabels()] == [str(48 + 16 * t) for t in range(10)]


def test_filled_marks_are_retrained_rounds() -> None:
    axes = learning_curve(histories_of("fixed:4")).axes[0]
    marks = [line for line in axes.get_lines() if line.get_linestyle() == "None" and line.get_markersize() == 4.5]
    rounds = {str(line.get_markerfacecolor()): xs(line) for line in marks}
    assert rounds == {style_of("fixed:4").light: [1, 2, 3], SURFACE: [4, 5, 6, 7, 8, 9, 10]}


def test_calibration_has_raw_and_scaled() -> None:
    history = history_of("finetune")
    figure = calibration_curves({"finetune": history})
    for axes, name in zip(figure.axes, ("nll", "ece"), strict=False):
        drawn = [ys(line) for line in axes.get_lines() if len(xs(line)) == 10]
        assert [getattr(record.validation, name) for record in history] in drawn
        assert [getattr(record.validation, f"{name}_scaled") for record in history] in drawn


def test_steps_add_up() -> None:
    histories = histories_of("retrain", "finetune")
    axes = step_curve(histories).axes[0]
    for spec, history in histories.items():
        assert lines(axes, spec)[0][1][-1] == sum(record.cost.steps for record in history)


def test_phases_stack_to_the_whole_time() -> None:
    history = history_of("fixed:4")
    drawn = bars(phase_seconds({"fixed:4": history}).axes[0])
    tops = [
        max(bar.get_y() + bar.get_height() for bar in drawn if round(bar.get_x() + 0.36) == t) for t in range(1, 11)
    ]
    assert tops == pytest.approx([sum(record.seconds.values()) for record in history])
    many = bars(phase_seconds(histories_of("fixed:4", "retrain")).axes[0])
    assert max(bar.get_x() + bar.get_width() for bar in many) == pytest.approx(
        sum(sum(record.seconds.values()) for record in history_of("retrain"))
    )


def test_strip_shows_the_update_sequences() -> None:
    histories = histories_of("retrain", "fixed:4", "replay:96")
    axes = strategy_strip(histories).axes[0]
    rows: dict[float, list[tuple[float, str]]] = {}
    for text in axes.texts:
        x, y = text.get_position()
        rows.setdefault(y, []).append((x, text.get_text()))
    label_text = ["".join(letter for _, letter in sorted(rows[y])) for y in sorted(rows)]
    assert label_text == ["R" * 10, "RRRFFFFFFF", "P" * 10]


SPEC = "hybrid:accuracy:0.005:2"

DETECTOR = Stabilisation(0.005, 2)


def drawn(history: tuple[Round, ...], detector: Stabilisation | None = DETECTOR) -> Figure:
    return signal_curve({SPEC: history}, "accuracy", {SPEC: detector} if detector else {})


def test_stable_rounds_are_filled_and_t_star_is_marked() -> None:
    axes = drawn(history_of(SPEC)).axes[0]
    marks = [line for line in axes.get_lines() if line.get_marker() not in (None, "None", "")]
    filled = [x for line in marks if line.get_markerfacecolor() == style_of(SPEC).light for x in xs(line)]
    moved = [x for line in marks if line.get_markerfacecolor() == SURFACE for x in xs(line)]
    streaks = DETECTOR.streaks([record.changes["accuracy"] for record in history_of(SPEC)])
    assert filled == [round for round, streak in enumerate(streaks, start=1) if streak]
    assert sorted(filled + moved) == [float(t) for t in range(2, 11)]
    assert {text.get_text() for text in axes.texts} >= {"t* = 7", "ε = 0.005"}


def test_zero_change_is_drawn_below_all_others() -> None:
    history = history_of(SPEC)
    assert 0 in [record.changes["accuracy"] for record in history]
    axes = drawn(history).axes[0]
    curve = next(line for line in axes.get_lines() if len(xs(line)) == 9)
    positive = [change for record in history if (change := record.changes["accuracy"])]
    assert min(ys(curve)) < min(positive)
    assert "no change" in [text.get_text() for text in axes.texts]
    assert all(tick.get_position()[1] > axes.get_ylim()[0] for tick in axes.get_yticklabels())


@pytest.mark.parametrize("value", [0.0, 1e-300, 1e-9, 1.0, 1e12])
def test_any_size_of_change_can_be_drawn(value: float) -> None:
    history = tuple(
        replace(record, changes={"accuracy": None if record.round == 1 else value})
        for record in history_of("retrain", 4)
    )
    for detector in (DETECTOR, None):
        assert to_svg(drawn(history, detector)).startswith("<svg")


def test_two_thresholds_on_one_signal_are_both_drawn() -> None:
    histories = histories_of("hybrid:alpha:0.001:1", "hybrid:alpha:0.0001:3")
    detectors = dict(zip(histories, (Stabilisation(0.001, 1), Stabilisation(0.0001, 3)), strict=True))
    texts = {text.get_text() for text in signal_curve(histories, "alpha", detectors).axes[0].texts}
    assert {"ε = 0.001", "ε = 0.0001"} <= texts


@pytest.mark.parametrize("values", [(0.21, 0.39), (1e-7, 1e3), (0.004, 0.006), (3.0, 3.0)])
def test_the_axis_always_has_ticks_and_never_too_many(values: tuple[float, float]) -> None:
    history = tuple(
        replace(record, changes={"accuracy": None if record.round == 1 else values[record.round % 2]})
        for record in history_of("retrain", 3)
    )
    axes = drawn(history, None).axes[0]
    low, high = axes.get_ylim()
    ticks = [float(tick) for tick in axes.get_yticks() if low <= tick <= high]
    assert 1 <= len(ticks) <= 8
    assert len({label.get_text() for label in axes.get_yticklabels()}) == len(axes.get_yticks())
