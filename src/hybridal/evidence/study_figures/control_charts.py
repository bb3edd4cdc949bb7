"""How does a signal decide? Four runs: a fast switch, a slow one, dips that k filtered out, and no switch at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from hybridal.evidence.figures._curves import marks
from hybridal.evidence.formats import change, threshold
from hybridal.evidence.looks import look
from hybridal.evidence.results import Results
from hybridal.evidence.study_figures._names import labels, signal_name
from hybridal.evidence.study_figures._parts import DASHED, STAR_KEY, decades, is_full, key, legend, legend_room, star
from hybridal.evidence.study_figures._tables import comparable, hybrids, run_changes
from hybridal.evidence.study_figures.drawn import Words
from hybridal.evidence.study_figures.representatives import Chart, Run, representatives
from hybridal.evidence.style import COLUMN, INK, MUTED, SURFACE, new_figure, styled, whole_rounds
from hybridal.schedules.hybrid import HybridAL
from hybridal.study.folder import StudyFolder

_CASES = ("Fast switch", "Slow switch", "Dips filtered by k", "No switch")
_MISSING = ("no run switched", "no other run switched", "no dip was too short", "every run switched")


def control_charts(results: Results, _folder: StudyFolder, spec: str = "", width: float = COLUMN) -> Figure | None:
    """Four runs of a hybrid schedule (the study's first where none is named), chosen by `representatives`."""
    found = _found(results, spec)
    if found is None:
        return None
    schedule, charts, places = found
    signal = signal_name(schedule.signal.name)
    with styled():
        keys = [
            key(f"{signal} below ε", marker="o", color=look(schedule.spec).light),
            key("not below", marker="o", color=look(schedule.spec).light, markerfacecolor=SURFACE),
            key(f"ε = {threshold(schedule.epsilon)}, k = {schedule.patience}", linestyle=DASHED, color=INK),
            key("t*", **STAR_KEY),
        ]
        rows = 1 if is_full(width) else 2
        figure = new_figure(1.75 * rows + 0.1 + legend_room(keys, width), width)
        panels = figure.subplots(rows, 4 // rows, sharex=True, sharey=True).flat
        for axes, case, missing, chart in zip(panels, _CASES, _MISSING, charts, strict=True):
            axes.set_title(case, pad=17)
            if chart is None:
                axes.text(0.5, 0.5, missing, transform=axes.transAxes, ha="center", va="center", color=MUTED)
            else:
                axes.text(0, 1.035, _place(chart.run, places), transform=axes.transAxes, fontsize=7, color=MUTED)
                _draw(axes, chart, schedule)
        _scale(figure, [chart for chart in charts if chart], schedule.epsilon)
        _rounds(figure, rows, int(results.runs["rounds"].max()))
        legend(figure, keys, width)
        return figure


def control_words(results: Results, _folder: StudyFolder, spec: str = "") -> Words:
    found = _found(results, spec)
    assert found is not None
    schedule, charts, places = found
    said = [
        f"{case}: {_place(chart.run, places)}, {'never' if chart.t_star is None else f't* = {chart.t_star}'}"
        for case, chart in zip(_CASES, charts, strict=True)
        if chart
    ]
    name = signal_name(schedule.signal.name)
    reading = (
        f"Fine-tuning begins after {schedule.patience} changes in a row below ε (filled); shown are the earliest and "
        "the latest switch, the run with most stretches that were too short, and the first that never switched."
    )
    return Words(f"How {name} decides", reading, "; ".join(said) + ".")


def _found(results: Results, spec: str) -> tuple[HybridAL, tuple[Chart | None, ...], dict[str, str]] | None:
    found = comparable(results)
    if found is None:
        return None
    specs = [str(one) for one in found.runs["schedule"].unique()]
    chosen = next(iter(hybrids([one for one in specs if spec in ("", one)]).values()), None)
    if chosen is None:
        return None
    charts = representatives(run_changes(found.rounds, chosen.spec, chosen.signal.name), chosen.detector)
    return chosen, charts, labels([*found.runs["task"], *found.runs["backbone"]], 14)


def _place(run: Run, places: Mapping[str, str]) -> str:
    return f"{places[run[0]]}, {places[run[1]]}, seed {run[2]}"


def _draw(axes: Axes, chart: Chart, schedule: HybridAL) -> None:
    colour = look(schedule.spec).light
    streaks = schedule.detector.streaks(chart.changes)
    drawn = [(t, value, streak > 0) for t, (value, streak) in enumerate(zip(chart.changes, streaks, strict=True), 1)
             if value is not None]  # fmt: skip
    axes.plot([t for t, _, _ in drawn], [value for _, value, _ in drawn], color=colour, linewidth=0.9, alpha=0.8)
    for face, stable in ((colour, True), (SURFACE, False)):
        marks(axes, [(t, value) for t, value, below in drawn if below == stable], "o", colour, face, size=3.6)
    axes.axhline(schedule.epsilon, color=INK, linestyle=DASHED, linewidth=1)
    if chart.t_star is not None:
        axes.axvline(chart.t_star, color=MUTED, linewidth=0.8, linestyle=":")
        star(axes, chart.t_star, chart.changes[chart.t_star - 1] or 0.0, INK, size=10)


def _scale(figure: Figure, charts: Sequence[Chart], epsilon: float) -> None:
    """Logarithmic, because changes differ by orders of magnitude, and linear near 0, which they may be."""
    values = [value for chart in charts for value in chart.changes if value is not None]
    least = min(value for value in (*values, epsilon) if value > 0)
    most = max([*values, epsilon])
    still = 0 in values
    ticks = [0.0] * still + decades(least / 1.5, most * 1.8)
    for axes in figure.axes:
        axes.set_yscale("symlog", linthresh=least, linscale=0.5)
        axes.set_ylim(-least / 3 if still else least / 1.5, most * 1.8)
        axes.set_yticks(ticks, [change(tick) for tick in ticks])
        axes.yaxis.set_minor_locator(NullLocator())


def _rounds(figure: Figure, rows: int, last: int) -> None:
    for at, axes in enumerate(figure.axes):
        whole_rounds(axes, last)
        if at < 2 and rows == 2:
            axes.set_xlabel("")
