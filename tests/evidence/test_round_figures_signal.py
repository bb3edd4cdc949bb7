from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from hybridal.core.facts import Round
from hybridal.evidence.names import look
from hybridal.evidence.round_figures import signal_curve
from hybridal.evidence.style import SURFACE, to_svg
from hybridal.measures.stabilisation import Stabilisation

from .drawn import xs, ys
from .made_up import histories_of, history_of

SPEC = "hybrid:accuracy:0.005:2"
DETECTOR = Stabilisation(0.005, 2)


def drawn(history: tuple[Round, ...], detector: Stabilisation | None = DETECTOR) -> Figure:
    return signal_curve({SPEC: history}, "accuracy", {SPEC: detector} if detector else {})


def test_stable_rounds_are_filled_and_t_star_is_marked() -> None:
    axes = drawn(history_of(SPEC)).axes[0]
    marks = [line for line in axes.get_lines() if line.get_marker() not in (None, "None", "")]
    filled = [x for line in marks if line.get_markerfacecolor() == look(SPEC).light for x in xs(line)]
    moved = [x for line in marks if line.get_markerfacecolor() == SURFACE for x in xs(line)]
    streaks = DETECTOR.streaks([fact.changes["accuracy"] for fact in history_of(SPEC)])
    assert filled == [round for round, streak in enumerate(streaks, start=1) if streak]
    assert sorted(filled + moved) == [float(t) for t in range(2, 11)]
    assert {text.get_text() for text in axes.texts} >= {"t* = 7", "ε = 0.005"}


def test_no_change_at_all_stands_below_every_change() -> None:
    history = history_of(SPEC)
    assert 0 in [fact.changes["accuracy"] for fact in history]
    axes = drawn(history).axes[0]
    curve = next(line for line in axes.get_lines() if len(xs(line)) == 9)
    positive = [change for fact in history if (change := fact.changes["accuracy"])]
    assert min(ys(curve)) < min(positive)
    assert "no change" in [text.get_text() for text in axes.texts]
    assert all(tick.get_position()[1] > axes.get_ylim()[0] for tick in axes.get_yticklabels())


@pytest.mark.parametrize("value", [0.0, 1e-300, 1e-9, 1.0, 1e12])
def test_any_size_of_change_can_be_drawn(value: float) -> None:
    history = tuple(
        replace(fact, changes={"accuracy": None if fact.round == 1 else value}) for fact in history_of("retrain", 4)
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
        replace(fact, changes={"accuracy": None if fact.round == 1 else values[fact.round % 2]})
        for fact in history_of("retrain", 3)
    )
    axes = drawn(history, None).axes[0]
    low, high = axes.get_ylim()
    ticks = [float(tick) for tick in axes.get_yticks() if low <= tick <= high]
    assert 1 <= len(ticks) <= 8
    assert len({label.get_text() for label in axes.get_yticklabels()}) == len(axes.get_yticks())
