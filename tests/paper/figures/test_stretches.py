from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.patches import Rectangle

from hybridal.measures.stabilisation import Stabilisation
from hybridal.paper.figures.decisions import stretch_lengths, stretches
from hybridal.schedules.hybrid import HybridAL

from .conftest import Made
from .reading import figure_of, titles, words_of

RULES = [HybridAL("alpha", 1e-4, 3), HybridAL("accuracy", 5e-3, 2)]


RUNS = st.lists(
    st.lists(st.sampled_from([0.0, 0.001, 0.004, 0.005, 0.006, 0.03]), max_size=15).map(lambda rest: [None, *rest]),
    max_size=5,
)


def groups_below(runs: Sequence[Sequence[float | None]], epsilon: float) -> list[int]:
    """The lengths of all stretches below ε, by a plain reading of the definition."""
    return [
        len(list(group))
        for changes in runs
        for below, group in groupby(changes, key=lambda change: change is not None and change < epsilon)
        if below
    ]


@given(RUNS, st.integers(1, 4))
def test_stretches_are_the_groups_below(runs: list[list[float | None]], k: int) -> None:
    detector = Stabilisation(0.005, k)
    found, known = stretch_lengths(runs, detector), groups_below(runs, 0.005)
    assert found.total == Counter(known)
    shorter = sum(length < k for length in known)
    assert found.filtered_share(k) == (shorter / len(known) if known else None)
    assert sum(detector.t_star(changes) is not None for changes in runs) <= len(known) - shorter


def test_bars_count_all_stretches_of_the_schedules_own_runs(main: Made) -> None:
    figure = figure_of(stretches(main.results))
    assert figure is not None
    for axes, rule in zip(figure.axes, RULES, strict=True):
        own = [main.folder.histories(cell)[rule.spec] for cell in main.folder.cells]
        lengths = groups_below([[fact.changes[rule.signal.name] for fact in run] for run in own], rule.epsilon)
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
        said = words_of(stretches(main.results)).alt
        assert f"{len(lengths)} stretches, {shorter_share:.0%} shorter than k" in said


def test_a_signal_that_is_never_below_has_no_panel(signals: Made) -> None:
    figure = figure_of(stretches(signals.results))
    assert figure is not None
    assert not [title for title in titles(figure) if title.startswith("‖Δθ‖")]
    assert "never below ε" in words_of(stretches(signals.results)).alt


@pytest.mark.parametrize("width", [4.2, 8.8])
def test_axes_are_named_once(signals: Made, width: float) -> None:
    figure = figure_of(stretches(signals.results, width))
    assert figure is not None
    named = [bool(axes.get_xlabel()) for axes in figure.axes]
    assert named[-1]
    assert not named[0]
