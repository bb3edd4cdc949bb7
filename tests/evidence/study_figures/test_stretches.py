from __future__ import annotations

import pytest
from matplotlib.patches import Rectangle

from hybridal.evidence.statistics.switching import below_stretches
from hybridal.evidence.study_figures.stretches import stretch_words, stretches
from hybridal.schedules.hybrid import HybridAL

from .conftest import Made
from .reading import titles

RULES = [HybridAL("alpha", 1e-4, 3), HybridAL("accuracy", 5e-3, 2)]


def test_bars_count_all_stretches_of_the_schedules_own_runs(main: Made) -> None:
    figure = stretches(main.results, main.folder)
    assert figure is not None
    for axes, rule in zip(figure.axes, RULES, strict=True):
        own = [main.folder.histories(cell)[rule.spec] for cell in main.folder.cells]
        reference = below_stretches(own, rule)
        bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
        before, after = bars[::2], bars[1::2]
        shown = {
            round(low.get_x() + 0.4): low.get_height() + high.get_height()
            for low, high in zip(before, after, strict=True)
        }
        assert shown == {n: reference.lengths.count(n) for n in range(1, max(reference.lengths) + 1)}
        fired = sum(bar.get_height() for bar in before if round(bar.get_x() + 0.4) >= rule.patience)
        runs = main.results.runs
        assert fired == runs.loc[runs["schedule"] == rule.spec, "t_star"].notna().sum()
        assert reference.shorter_share is not None
        assert f"{reference.shorter_share:.0%} filtered" in axes.get_title(loc="left")
        said = stretch_words(main.results, main.folder).alt
        assert f"{len(reference.lengths)} stretches, {reference.shorter_share:.0%} shorter than k" in said


def test_a_signal_that_is_never_below_has_no_panel(signals: Made) -> None:
    figure = stretches(signals.results, signals.folder)
    assert figure is not None
    assert not [title for title in titles(figure) if title.startswith("‖Δθ‖")]
    assert "never below ε" in stretch_words(signals.results, signals.folder).alt


@pytest.mark.parametrize("width", [4.2, 8.8])
def test_axes_are_named_once(signals: Made, width: float) -> None:
    figure = stretches(signals.results, signals.folder, width)
    assert figure is not None
    named = [bool(axes.get_xlabel()) for axes in figure.axes]
    assert named[-1]
    assert not named[0]
