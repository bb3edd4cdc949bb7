"""Which runs show how a signal decides? Four that stand for their like, chosen by rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hybridal.measures.stabilisation import Stabilisation

Run = tuple[str, str, int]
Changes = Sequence[float | None]


@dataclass(frozen=True)
class Chart:
    """A run that stands for its like."""

    run: Run
    changes: Changes
    t_star: int | None


def representatives(runs: Mapping[Run, Changes], detector: Stabilisation) -> tuple[Chart | None, ...]:
    """The earliest t*, the latest one, most stretches below ε that were too short to fire, and the first without a t*.

    No run is shown twice, and of several the study's first is taken.

    >>> runs = {("a", "b", 1): [None, 0.1, 0.1], ("a", "b", 2): [None, 0.9, 0.9]}
    >>> [chart and chart.run[2] for chart in representatives(runs, Stabilisation(0.5, 2))]
    [1, None, None, 2]
    """
    charts = [Chart(run, changes, detector.t_star(changes)) for run, changes in runs.items()]
    fired = [chart for chart in charts if chart.t_star is not None]
    never = next((chart for chart in charts if chart.t_star is None), None)
    fast = min(fired, key=lambda chart: chart.t_star or 0, default=None)
    slow = max((chart for chart in fired if chart is not fast), key=lambda chart: chart.t_star or 0, default=None)
    rest = [chart for chart in charts if chart not in (fast, slow, never) and _dips(chart, detector)]
    return fast, slow, max(rest, key=lambda chart: _dips(chart, detector), default=None), never


def _dips(chart: Chart, detector: Stabilisation) -> int:
    """Stretches below ε that ended before they were long enough."""
    streaks = detector.streaks(chart.changes)[: chart.t_star]
    return sum(now > 0 and after == 0 for now, after in pairwise(streaks))
