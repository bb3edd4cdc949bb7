"""How do F1 and NLL develop round by round, and does the choice of the signal matter?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator
from numpy.typing import NDArray

from hybridal.lab.reports.comparable import SEEDS_FOR_A_BAND, Comparable
from hybridal.lab.study.study_results import rules
from hybridal.reports import figure_kit as kit
from hybridal.reports.display_names import distinct_markers, method_names, style_of
from hybridal.reports.figure_style import GRID, MUTED, Drawn, whole_rounds
from hybridal.reports.number_formats import counted, joined, score

Measure = Literal["f1", "nll"]

# The name of a measure, its better direction, the heading, and the corner of the inset.
_MEASURES = {
    "f1": ("validation macro-F1", "higher", "How F1 grows", "lower"),
    "nll": ("validation NLL", "lower", "How calibration develops", "upper"),
}
# With two signals, the trajectories show the difference already.
_SIGNALS = 3
# More bands than this make one grey cloud.
_MOST_BANDS = 6
# With fewer rounds the whole curve is as easily read as its end.
_ROUNDS_FOR_A_ZOOM = 12


def trajectories(found: Comparable, measure: Measure = "f1") -> Drawn | None:
    """Draw means over runs by round with ±1 SEM, a star at each schedule's mean t*, and an inset of the last rounds.

    Fixed switches are left out: their curves follow Retrain's before the switch and FineTune's after it.
    """
    specs, column = found.methods(fixed=False), f"validation_{measure}"
    if not specs or found.rounds[column].isna().any():
        return None
    called, better, heading, corner = _MEASURES[measure]
    names, sentences, band = method_names(specs), [], ""
    parts = {family: (part, mean_curves(part, column, specs)) for family, part in found.families()}
    with kit.paneled(len(parts), 2.35, _keys(found, specs)) as (figure, panels):
        for axes, (family, (part, curves)) in zip(panels, parts.items(), strict=True):
            _draw(axes, part, curves, f"{family}: {called}", corner)
            ends = [f"{names[spec]} {score(float(curve.mean[-1]))}" for spec, curve in curves.items()]
            sentences.append(f"{family}, {called} in the last round: {joined(ends)}.")
            band = " with ±1 standard error" if any(curve.sem is not None for curve in curves.values()) else ""
        kit.label_outside(panels, "round")
    runs = counted(len(found.runs) // found.runs["schedule"].nunique(), "run")
    reading = f"Mean {called} of {runs} a schedule{band}, {better} is better; stars stand at the mean t*."
    return Drawn(figure, heading, reading, " ".join(sentences))


def signal_f1(found: Comparable) -> Drawn | None:
    """Draw one line per signal, plus Retrain and FineTune; tasks weigh the same. None below three signals."""
    specs = found.methods(fixed=False)
    signals = {rule.signal.name for rule in rules(specs).values()}
    if found.rounds["validation_f1"].isna().any() or len(signals) < _SIGNALS:
        return None
    names, curves = method_names(specs, short=True), mean_curves(found, "validation_f1", specs, by_task=True)
    with kit.paneled(1, 2.9, _keys(found, specs, short=True)) as (figure, (axes,)):
        title = f"Validation macro-F1, mean of {counted(found.runs['task'].nunique(), 'task')}"
        _draw(axes, found, curves, title, "lower")
    ends = [
        f"{names[spec]} {score(float(curve.mean[-1]))}"
        + ("" if curve.t_star is None else f" (mean t* {curve.t_star:.1f})")
        for spec, curve in curves.items()
    ]
    reading = "Mean validation macro-F1, every task with the same weight, higher is better; stars stand at the mean t*."
    return Drawn(figure, "Signals and F1", reading, f"Mean validation macro-F1 in the last round: {joined(ends)}.")


def _keys(found: Comparable, specs: Sequence[str], short: bool = False) -> list[kit.Key]:
    switched = found.runs["t_star"].notna().any()
    return kit.method_keys(specs, short) + ([kit.key("mean t*", **kit.STAR_KEY)] if switched else [])


def _draw(axes: Axes, part: Comparable, curves: Mapping[str, Curve], title: str, corner: str) -> None:
    draw_curves(axes, curves)
    whole_rounds(axes, int(part.runs["rounds"].max()))
    axes.set_title(title)
    zoom(axes, curves, corner)


@dataclass(frozen=True)
class Curve:
    """The mean curve of a schedule by round.

    `sem` is None where there are too few seeds or too many curves, `t_star` where no run has one.
    """

    rounds: NDArray[np.float64]
    mean: NDArray[np.float64]
    sem: NDArray[np.float64] | None
    t_star: float | None

    @property
    def at_t_star(self) -> float:
        return float(np.interp(self.t_star or 0, self.rounds, self.mean))


def mean_curves(part: Comparable, column: str, specs: Sequence[str], by_task: bool = False) -> dict[str, Curve]:
    """Return the mean over all runs of each schedule, or over its task means; both are equal if no cell is missing."""
    found = {}
    banded = not by_task and part.runs["seed"].nunique() >= SEEDS_FOR_A_BAND and len(specs) <= _MOST_BANDS
    for spec in specs:
        own = part.rounds[part.rounds["schedule"] == spec]
        groups = own.groupby("round")[column]
        mean = own.groupby(["round", "task"])[column].mean().groupby("round").mean() if by_task else groups.mean()
        band = np.asarray(groups.sem(), dtype=np.float64) if banded else None
        t_stars = part.runs.loc[part.runs["schedule"] == spec, "t_star"].dropna()
        t_star = float(t_stars.mean()) if len(t_stars) else None
        found[spec] = Curve(mean.index.to_numpy(dtype=float), mean.to_numpy(dtype=float), band, t_star)
    return found


def draw_curves(axes: Axes, curves: Mapping[str, Curve], small: bool = False) -> None:
    """Draw bands, lines above them, and stars on top; a small drawing has lines and stars only."""
    shapes, broad = distinct_markers(curves), kit.widths(list(curves))
    for at, (spec, curve) in enumerate(curves.items()):
        colour, rounds = style_of(spec).light, len(curve.rounds)
        if curve.sem is not None and not small:
            low, high = curve.mean - curve.sem, curve.mean + curve.sem
            axes.fill_between(curve.rounds, low, high, color=colour, alpha=0.16, linewidth=0, label=f"band of {spec}")
        # Curves have their marks in different rounds, so that curves that touch can be distinguished.
        step = max(rounds // 5, 1)
        marked: dict[str, Any] = {"marker": shapes[spec], "markevery": (at % step, step), "markersize": 4.5}
        width = 0.55 * broad[spec] if small else broad[spec] - 0.3
        axes.plot(curve.rounds, curve.mean, color=colour, linewidth=width, label=spec, **({} if small else marked))
    for spec, curve in curves.items():
        if curve.t_star is not None:
            kit.star(axes, curve.t_star, curve.at_t_star, style_of(spec).light)


def zoom(axes: Axes, curves: Mapping[str, Curve], corner: str) -> Axes | None:
    """Add an inset of the last two fifths of the rounds in a right corner; the y axis is extended for it."""
    last = max(curve.rounds[-1] for curve in curves.values())
    if last < _ROUNDS_FOR_A_ZOOM:
        return None
    first = np.ceil(0.6 * last)
    # NewOnly is so far from the others that they would not be distinguishable on its scale.
    near = {spec: curve for spec, curve in curves.items() if spec != "newonly"} or curves
    tail = np.concatenate([curve.mean[curve.rounds >= first] for curve in near.values()])
    _make_room(axes, curves, corner, 0.3 * last)
    bottom = 0.08 if corner == "lower" else 0.53
    inset = axes.inset_axes((0.44, bottom, 0.55, 0.4))
    draw_curves(inset, curves, small=True)
    low, high = tail.min(), tail.max()
    margin = 0.12 * (high - low) or 0.01
    inset.set(xlim=(first - 0.3, last + 0.3), ylim=(low - margin, high + margin))
    inset.xaxis.set_major_locator(FixedLocator([float(first), float(last)]))
    inset.yaxis.set_major_locator(MaxNLocator(nbins=3))
    inset.tick_params(labelsize=7, pad=1.5)
    inset.grid(visible=True, axis="y", color=GRID, linewidth=0.6)
    inset.grid(visible=False, axis="x")
    for side in ("top", "right", "left", "bottom"):
        inset.spines[side].set(visible=True, color=MUTED, linewidth=0.6)
    return inset


def _make_room(axes: Axes, curves: Mapping[str, Curve], corner: str, first: float) -> None:
    """Extend the y axis until no curve crosses the half with the inset."""
    low, high = axes.get_ylim()
    near = np.concatenate([curve.mean[curve.rounds >= first] for curve in curves.values()])
    if corner == "lower":
        axes.set_ylim(min(low, (float(near.min()) - 0.53 * high) / 0.47), high)
    else:
        axes.set_ylim(low, max(high, low + (float(near.max()) - low) / 0.47))
