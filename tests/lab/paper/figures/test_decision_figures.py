from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st
from matplotlib.patches import Rectangle

from hybridal.lab.paper.figures.decision_figures import control_charts, representatives, streak_lengths, streaks
from hybridal.lab.study.study_results import rules
from hybridal.measures.stabilisation import Stabilisation
from hybridal.reports.display_names import style_of
from hybridal.schedules.hybrid import HybridAL

from .conftest import Made
from .reading import figure_of, marked, points, titles, words_of

SPEC = "hybrid:accuracy:0.005:2"
RULE = rules([SPEC])[SPEC]

CASES = ["Fast switch", "Slow switch", "Dips filtered by k", "No switch"]


def test_the_four_cases_are_chosen_by_rule() -> None:
    changes = {
        "slow": [None, 0.9, 0.9, 0.9, 0.1, 0.1],
        "dips": [None, 0.1, 0.9, 0.1, 0.9, 0.9],
        "never": [None, 0.9, 0.9, 0.9, 0.9, 0.9],
        "fast": [None, 0.1, 0.1, 0.9, 0.9, 0.9],
        "fast too": [None, 0.1, 0.1, 0.9, 0.9, 0.9],
        "many dips": [None, 0.1, 0.9, 0.1, 0.9, 0.1],
    }
    runs = {(name, "b", 1): changes[name] for name in ("slow", "never", "fast", "fast too", "dips", "many dips")}
    chosen = representatives(runs, Stabilisation(0.5, 2))
    assert [chart.run[0] if chart else None for chart in chosen] == ["fast", "slow", "dips", "never"]
    assert [chart.t_star if chart else 0 for chart in chosen] == [3, 6, None, None]


def test_only_dips_before_the_switch_count_and_only_those_that_ended() -> None:
    runs = {
        ("a", "b", 1): [None, 0.9, 0.9],
        ("a", "b", 2): [None, 0.1, 0.1],
        ("a", "b", 3): [None, 0.9, 0.9, 0.9, 0.9, 0.1, 0.1],
        ("a", "b", 4): [None, 0.9, 0.1, 0.1, 0.9, 0.1, 0.9, 0.1, 0.9],  # has switched when the dips come
        ("a", "b", 5): [None, 0.9, 0.9, 0.1],  # is still below at the end
        ("a", "b", 6): [None, 0.1, 0.9, 0.1, 0.1],
    }
    assert [chart and chart.run[2] for chart in representatives(runs, Stabilisation(0.5, 2))] == [2, 3, 6, 1]


def test_panels_show_the_changes_of_their_run(main: Made) -> None:
    figure = figure_of(control_charts(main.fair, SPEC, RULE))
    assert figure is not None
    assert titles(figure) == CASES
    rounds, runs = main.results.rounds, main.results.runs
    own = runs[runs["schedule"] == SPEC]
    extremes = (own["t_star"].min(), own["t_star"].max())
    for axes, t_star in zip(figure.axes[:2], extremes, strict=True):
        (star,) = marked(axes, "*")
        assert points(star)[0][0] == t_star
    drawn = [
        points(
            next(
                one
                for one in axes.get_lines()
                if one.get_color() == style_of(SPEC).light and one.get_linewidth() == 0.9
            )
        )
        for axes in figure.axes
    ]
    records = {
        tuple(zip(cell["round"].astype(float), cell["change_accuracy"], strict=True))[1:]
        for _, cell in rounds[rounds["schedule"] == SPEC].groupby(["task", "backbone", "seed"])
    }
    assert all(tuple(curve) in records for curve in drawn)
    assert len({tuple(curve) for curve in drawn}) == 4
    for axes in figure.axes:
        (threshold,) = [one for one in axes.get_lines() if one.get_label() != "switch" and one.get_linestyle() == "--"]
        assert points(threshold)[0][1] == 0.005
        filled = [one for one in marked(axes, "o") if one.get_markerfacecolor() == style_of(SPEC).light]
        assert all(value < 0.005 for one in filled for _, value in points(one))
        empty = [one for one in marked(axes, "o") if one.get_markerfacecolor() != style_of(SPEC).light]
        assert all(value >= 0.005 for one in empty for _, value in points(one))


def test_missing_case_is_named(small: Made) -> None:
    figure = figure_of(control_charts(small.fair, SPEC, RULE))
    assert figure is not None
    texts = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert "no other run switched" in texts


def test_alt_text_names_runs_and_rule(main: Made) -> None:
    words = words_of(control_charts(main.fair, SPEC, RULE))
    own = main.results.runs[main.results.runs["schedule"] == SPEC]
    assert f"t* = {own['t_star'].min():.0f}" in words.alt
    assert "2 changes in a row" in words.reading


RULES = [HybridAL("alpha", 1e-4, 3), HybridAL("accuracy", 5e-3, 2)]

RUNS = st.lists(
    st.lists(st.sampled_from([0.0, 0.001, 0.004, 0.005, 0.006, 0.03]), max_size=15).map(lambda rest: [None, *rest]),
    max_size=5,
)


def groups_below(runs: Sequence[Sequence[float | None]], epsilon: float) -> list[int]:
    """The lengths of all streaks below ε, by a plain reading of the definition."""
    return [
        len(list(group))
        for changes in runs
        for below, group in groupby(changes, key=lambda change: change is not None and change < epsilon)
        if below
    ]


@given(RUNS, st.integers(1, 4))
def test_streaks_are_the_groups_below(runs: list[list[float | None]], k: int) -> None:
    detector = Stabilisation(0.005, k)
    found, known = streak_lengths(runs, detector), groups_below(runs, 0.005)
    assert found.total == Counter(known)
    shorter = sum(length < k for length in known)
    assert found.filtered_share(k) == (shorter / len(known) if known else None)
    assert sum(detector.t_star(changes) is not None for changes in runs) <= len(known) - shorter


def test_bars_count_all_streaks_of_the_schedules_own_runs(main: Made) -> None:
    figure = figure_of(streaks(main.fair))
    assert figure is not None
    for axes, rule in zip(figure.axes, RULES, strict=True):
        own = [main.folder.histories(cell)[rule.spec] for cell in main.folder.cells]
        lengths = groups_below([[record.changes[rule.signal.name] for record in run] for run in own], rule.epsilon)
        shorter_share = sum(length < rule.patience for length in lengths) / len(lengths)
        bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
        before, after = bars[::2], bars[1::2]
        shown = {
            round(low.get_x() + 0.4): low.get_height() + high.get_height()
            for low, high in zip(before, after, strict=True)
        }
        assert shown == {n: lengths.count(n) for n in range(1, max(lengths) + 1)}
        fired = sum(bar.get_height() for bar in before if round(bar.get_x() + 0.4) >= rule.patience)
        runs = main.results.runs
        assert fired == runs.loc[runs["schedule"] == rule.spec, "t_star"].notna().sum()
        assert f"{shorter_share:.0%} filtered" in axes.get_title(loc="left")
        alt = words_of(streaks(main.fair)).alt
        assert f"{len(lengths)} streaks, {shorter_share:.0%} shorter than k" in alt


def test_a_signal_that_is_never_below_has_no_panel(signals: Made) -> None:
    figure = figure_of(streaks(signals.fair))
    assert figure is not None
    assert not [title for title in titles(figure) if title.startswith("‖Δθ‖")]
    assert "never below ε" in words_of(streaks(signals.fair)).alt


def test_axes_are_named_once(signals: Made) -> None:
    figure = figure_of(streaks(signals.fair))
    assert figure is not None
    named = [bool(axes.get_xlabel()) for axes in figure.axes]
    assert named[-1]
    assert not named[0]
