"""How does a signal decide, and what does patience filter out?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullLocator

from hybridal.lab.reports.comparable import Comparable
from hybridal.lab.study.study_results import rules
from hybridal.measures.stabilisation import Stabilisation
from hybridal.reports import figure_kit as kit
from hybridal.reports.display_names import method_names, short_labels, style_of
from hybridal.reports.figure_style import INK, MUTED, SURFACE, Drawn, whole_rounds
from hybridal.reports.number_formats import change, counted, plain, threshold
from hybridal.schedules import Rule

# Four cases, and the text if no run shows one.
_CASES = {
    "Fast switch": "no run switched",
    "Slow switch": "no other run switched",
    "Dips filtered by k": "no dip was too short",
    "No switch": "every run switched",
}
Run = tuple[str, str, int]
Changes = Sequence[float | None]


@dataclass(frozen=True)
class Chart:
    """A representative run."""

    run: Run
    changes: Changes
    t_star: int | None


def control_charts(found: Comparable, spec: str, rule: Rule) -> Drawn:
    """Draw four runs of a hybrid schedule, chosen by `representatives`."""
    detector = rule.detector
    charts = representatives(found.changes(spec, rule.signal.name), detector)
    names = short_labels([*found.runs["task"], *found.runs["backbone"]], 14)
    places = [chart and f"{names[chart.run[0]]}, {names[chart.run[1]]}, seed {chart.run[2]}" for chart in charts]
    signal, colour = plain(rule.signal.title), style_of(spec).light
    keys = [
        kit.key(f"{signal} below ε", marker="o", color=colour),
        kit.key("not below", marker="o", color=colour, markerfacecolor=SURFACE),
        kit.key(f"ε = {threshold(detector.epsilon)}, k = {detector.patience}", linestyle=kit.DASHED, color=INK),
        kit.key("t*", **kit.STAR_KEY),
    ]
    with kit.drawing(3.6, keys) as figure:
        panels = figure.subplots(2, 2, sharex=True, sharey=True).flat
        for axes, (case, missing), chart, place in zip(panels, _CASES.items(), charts, places, strict=True):
            axes.set_title(case, pad=17)
            if chart is None:
                axes.text(0.5, 0.5, missing, transform=axes.transAxes, ha="center", va="center", color=MUTED)
            else:
                axes.text(0, 1.035, place, transform=axes.transAxes, fontsize=7, color=MUTED)
                _draw_chart(axes, chart, detector, colour)
        _log_scale(figure, [chart for chart in charts if chart], detector.epsilon)
        for at, axes in enumerate(figure.axes):
            whole_rounds(axes, int(found.runs["rounds"].max()))
            if at < 2:
                axes.set_xlabel("")
    sentences = [
        f"{case}: {place}, {'never' if chart.t_star is None else f't* = {chart.t_star}'}"
        for case, chart, place in zip(_CASES, charts, places, strict=True)
        if chart
    ]
    reading = (
        f"Fine-tuning begins after {detector.patience} changes in a row below ε (filled); shown are the earliest and "
        "the latest switch, the run with most streaks that were too short, and the first that never switched."
    )
    return Drawn(figure, f"How {signal} decides", reading, "; ".join(sentences) + ".")


def representatives(runs: Mapping[Run, Changes], detector: Stabilisation) -> tuple[Chart | None, ...]:
    """Return the runs with the earliest and latest t*, the most streaks that were too short, and the first without t*.

    No run is used twice; ties go to the first run of the study.

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
    """Count streaks below ε that ended before they had k rounds."""
    streaks = detector.streaks(chart.changes)[: chart.t_star]
    return sum(now > 0 and after == 0 for now, after in pairwise(streaks))


def _draw_chart(axes: Axes, chart: Chart, detector: Stabilisation, colour: str) -> None:
    points = kit.stable_points(chart.changes, detector)
    kit.marked_line(axes, points, colour, "o", 3.6, linewidth=0.9, alpha=0.8)
    axes.axhline(detector.epsilon, color=INK, linestyle=kit.DASHED, linewidth=1)
    if chart.t_star is not None:
        axes.axvline(chart.t_star, color=MUTED, linewidth=0.8, linestyle=":")
        kit.star(axes, chart.t_star, chart.changes[chart.t_star - 1] or 0.0, INK, size=10)


def _log_scale(figure: Figure, charts: Sequence[Chart], epsilon: float) -> None:
    """Set a logarithmic axis that is linear near 0, because changes differ by orders of magnitude and may be 0."""
    values = [value for chart in charts for value in chart.changes if value is not None]
    least = min(value for value in (*values, epsilon) if value > 0)
    most = max([*values, epsilon])
    still = 0 in values
    ticks = [0.0] * still + kit.decades(least / 1.5, most * 1.8)
    for axes in figure.axes:
        axes.set_yscale("symlog", linthresh=least, linscale=0.5)
        axes.set_ylim(-least / 3 if still else least / 1.5, most * 1.8)
        axes.set_yticks(ticks, [change(tick) for tick in ticks])
        axes.yaxis.set_minor_locator(NullLocator())


@dataclass(frozen=True)
class Lengths:
    """Numbers of streaks below ε by length, up to the switch and after it (when none can fire any more)."""

    before: Counter[int]
    after: Counter[int]

    @property
    def total(self) -> Counter[int]:
        return self.before + self.after

    def filtered_share(self, patience: int) -> float | None:
        """Return the share of streaks that are shorter than k."""
        total = self.total
        return sum(n for length, n in total.items() if length < patience) / total.total() if total else None


def streak_lengths(runs: Sequence[Changes], detector: Stabilisation) -> Lengths:
    """Count the streaks of all runs; the one that fired counts as before the switch.

    >>> streak_lengths([[None, 0.1, 0.9, 0.1, 0.1, 0.1, 0.9, 0.1]], Stabilisation(0.5, 2))
    Lengths(before=Counter({1: 1, 3: 1}), after=Counter({1: 1}))
    """
    before, after = Counter[int](), Counter[int]()
    for changes in runs:
        streaks, t_star = detector.streaks(changes), detector.t_star(changes)
        for last, (length, following) in enumerate(zip(streaks, [*streaks[1:], 0], strict=True), start=1):
            if length and not following:
                first = last - length + 1
                (before if t_star is None or first <= t_star else after)[length] += 1
    return Lengths(before, after)


def streaks(comparison: Comparable) -> Drawn | None:
    """Draw, in one panel per hybrid schedule, its streaks by length; those shorter than k are marked."""
    found = {}
    for spec, rule in rules(comparison.methods(fixed=False)).items():
        changes = list(comparison.changes(spec, rule.signal.name).values())
        found[spec] = (rule.detector, streak_lengths(changes, rule.detector))
    shown = {spec: one for spec, one in found.items() if one[1].total}
    if not shown:
        return None
    titles, names, sentences = method_names(found, short=True), method_names(found), []
    with kit.paneled(len(shown), 1.6, extra=0.55) as (figure, panels):
        for axes, (spec, (detector, lengths)) in zip(panels, shown.items(), strict=True):
            _draw_lengths(axes, lengths, detector.patience, style_of(spec).light)
            axes.set_title(f"{titles[spec]}: {lengths.filtered_share(detector.patience):.0%} filtered")
        kit.label_outside(panels, "rounds in a row below ε", "streaks")
        keys = [
            Patch(color=MUTED, label="filtered"),
            Patch(color=INK, label="fired (in colour)"),
            Patch(color=INK, alpha=0.35, label="after switch (pale)"),
        ]
        figure.legend(handles=keys, loc="outside lower center", ncols=3, handlelength=1.1, columnspacing=1.0)
    for spec, (detector, lengths) in found.items():
        share = lengths.filtered_share(detector.patience)
        name = f"{names[spec]} (ε = {threshold(detector.epsilon)}, k = {detector.patience})"
        many = counted(lengths.total.total(), "streak", "streaks")
        sentences.append(f"{name}: " + ("never below ε" if share is None else f"{many}, {share:.0%} shorter than k"))
    reading = (
        "Streaks shorter than k (grey) never cause a switch; the first that is long enough does, and those after the "
        "switch (pale) can no longer."
    )
    return Drawn(figure, "What patience filters out", reading, "; ".join(sentences) + ".")


def _draw_lengths(axes: Axes, lengths: Lengths, patience: int, colour: str) -> None:
    longest = max(lengths.total, default=1)
    for length in range(1, longest + 1):
        fired = colour if length >= patience else MUTED
        axes.bar(length, lengths.before[length], width=0.8, color=fired)
        axes.bar(length, lengths.after[length], bottom=lengths.before[length], width=0.8, color=fired, alpha=0.35)
    axes.axvline(patience - 0.5, color=INK, linestyle=kit.DASHED, linewidth=1)
    above = axes.get_xaxis_transform()
    axes.annotate(f"k = {patience}", (patience - 0.5, 1), (4, -8), above, "offset points", fontsize=8)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    axes.set_xlim(0.4, max(longest, patience + 1) + 0.6)
    axes.set_ylim(0, 1.25 * max(lengths.total.values()))
    axes.grid(axis="x", visible=False)
