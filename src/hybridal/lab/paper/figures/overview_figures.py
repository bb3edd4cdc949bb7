"""Is one schedule best at everything? Speed and calibration by task, final F1, and cost against NLL and F1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.projections.polar import PolarAxes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from hybridal.lab.reports.comparable import Comparable
from hybridal.lab.statistics.regret import pareto
from hybridal.lab.study.study_results import Cost
from hybridal.reports import figure_kit as kit
from hybridal.reports.display_names import distinct_markers, method_names, short_labels, style_of
from hybridal.reports.figure_style import GRID, INK, MUTED, SURFACE, Drawn
from hybridal.reports.number_formats import joined, score

# Two axes would make a line, and many shapes that overlap cannot be distinguished.
_TASKS, _METHODS = 3, 6
# Fewer runs are drawn one by one, because they do not show a density.
_RUNS_FOR_A_DENSITY = 6
_SHAPES = "osD^vPXph"


def radar(found: Comparable) -> Drawn | None:
    """Draw two radar charts with one axis per task: speed (counted steps) and calibration (NLL); outside is best."""
    specs, split, column = found.methods(fixed=False), found.measured, found.cost("steps")
    few = not 2 <= len(specs) <= _METHODS or found.runs["task"].nunique() < _TASKS
    if few or split is None or column is None:
        return None
    profiles = {"Speed": _scaled(found.runs, column, specs), "Calibration": _scaled(found.runs, f"{split}_nll", specs)}
    names, sentences = method_names(specs), []
    with kit.paneled(2, 2.45, kit.method_keys(specs), projection="polar") as (figure, panels):
        for axes, (title, profile) in zip(panels, profiles.items(), strict=True):
            assert isinstance(axes, PolarAxes)
            _draw_radar(axes, profile)
            axes.set_title(title, loc="center", pad=8)
    for title, profile in profiles.items():
        means = {spec: float(profile[spec].mean()) for spec in names}
        best = max(means, key=lambda spec: means[spec])
        wins = {spec: int((profile[spec] == 1).sum()) for spec in names}
        firsts = [f"{names[spec]} on {count}" for spec, count in wins.items() if count]
        sentences.append(f"{title}: {names[best]} has the largest mean, {means[best]:.2f} of 1;")
        sentences.append(f"best are {joined(firsts)} of {len(profile)} tasks.")
    reading = (
        "Each axis is a task, scaled from the worst schedule (inner ring) to the best (rim); speed counts optimiser "
        "steps, calibration is the NLL at the end."
    )
    return Drawn(figure, "Speed and calibration, task by task", reading, " ".join(sentences))


def _scaled(runs: pd.DataFrame, column: str, specs: list[str]) -> pd.DataFrame:
    """Return mean costs by task (rows) and schedule (columns), scaled per task: 1 for the lowest, 0 for the highest."""
    table = runs.pivot_table(index="task", columns="schedule", values=column, aggfunc="mean", sort=False)[specs]
    low, high = table.min(axis=1), table.max(axis=1)
    span = (high - low).replace(0, np.inf)  # if all are equal, all count as best
    return 1 - table.sub(low, axis=0).div(span, axis=0)


def _draw_radar(axes: PolarAxes, profile: pd.DataFrame) -> None:
    angles = np.linspace(0, 2 * np.pi, len(profile), endpoint=False)
    around = np.append(angles, angles[0])
    shapes = distinct_markers(profile.columns)
    for spec in profile.columns:
        values, colour = profile[spec].to_numpy(dtype=float), style_of(spec).light
        closed = np.append(values, values[0])
        axes.fill(around, closed, color=colour, alpha=0.07, linewidth=0)
        axes.plot(around, closed, color=colour, linewidth=1.4, marker=shapes[spec], markersize=3.5, label=spec)
    axes.set_theta_offset(np.pi / 2)
    axes.set_theta_direction(-1)
    # The worst value is a ring, not the centre, where all axes would meet.
    axes.set_ylim(-0.35, 1.03)
    axes.set_yticks([0, 0.5, 1], ["", "", ""])
    names = short_labels(profile.index, 14)
    axes.set_xticks(angles, [names[task] for task in profile.index])
    axes.tick_params(axis="x", pad=0, labelsize=8)
    for angle, label in zip(angles, axes.get_xticklabels(), strict=True):
        side = round(np.sin(angle), 6)
        label.set_horizontalalignment("left" if side > 0 else "right" if side < 0 else "center")
    axes.spines["polar"].set_visible(False)
    axes.grid(color=GRID)


def violins(found: Comparable) -> Drawn | None:
    """Draw a violin of the final F1 per schedule and task family, with the median (dot) and the quartiles (bar)."""
    split, specs = found.measured, found.methods() or found.methods(fixed=False)
    if split is None or not specs:
        return None
    names, parts, sentences = method_names(specs), list(found.families()), []
    with kit.drawing(0.75 + 0.31 * len(specs)) as figure:
        panels = figure.subplots(1, len(parts), sharey=True, squeeze=False)[0]
        for axes, (family, part) in zip(panels, parts, strict=True):
            for row, spec in enumerate(specs):
                values = part.runs.loc[part.runs["schedule"] == spec, f"{split}_f1"].to_numpy(dtype=float)
                _violin(axes, values, row, style_of(spec).light)
            axes.set_title(family, loc="left" if len(parts) == 1 else "center")
            axes.set_xlabel(f"{split} macro-F1")
            axes.xaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 5, 10]))
            axes.grid(axis="y", visible=False)
            axes.spines["left"].set_visible(False)
            middle = part.runs.groupby("schedule")[f"{split}_f1"].median()
            sentences.append(f"{family}, median: {joined([f'{names[spec]} {score(middle[spec])}' for spec in specs])}.")
        kit.rows(panels[0], list(names.values()))
        panels[0].set_ylim(len(specs) - 0.45, -0.55)
    most = max(int(part.runs["schedule"].value_counts().max()) for _, part in parts)
    marks = "dots are medians, bars quartiles" if most >= _RUNS_FOR_A_DENSITY else "dots are runs, bars their median"
    reading = f"Macro-F1 on {split} after the last round, all runs of a schedule; {marks}."
    return Drawn(figure, "How good the last models are", reading, " ".join(sentences))


def _violin(axes: Axes, values: NDArray[np.float64], row: int, colour: str) -> None:
    if len(values) < _RUNS_FOR_A_DENSITY or np.ptp(values) == 0:
        rows = np.full(len(values), row)
        axes.plot(values, rows, marker="o", markersize=5, color=colour, alpha=0.6, linestyle="none")
        axes.plot([np.median(values)] * 2, [row - 0.3, row + 0.3], color=INK, linewidth=1.4)
        return
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    at = np.linspace(values.min(), values.max(), 120)
    # Normal kernels of Scott's width.
    apart = np.subtract.outer(at, values) / (values.std(ddof=1) * len(values) ** -0.2)
    density = np.exp(-(apart**2) / 2).sum(axis=1)
    half = 0.42 * density / density.max()
    axes.fill_between(at, row - half, row + half, color=colour, alpha=0.45, linewidth=0)
    axes.plot([low, high], [row, row], color=INK, linewidth=3.4, solid_capstyle="butt")
    axes.plot([middle], [row], marker="o", markersize=4.2, color=SURFACE, markeredgecolor=INK, markeredgewidth=0.8)


class Point(NamedTuple):
    """Mean cost and mean NLL (or F1) of a schedule on a backbone, over tasks and seeds."""

    spec: str
    backbone: str
    cost: float
    value: float


# The names of costs and measures on an axis, in a heading and in sentences.
_UNITS = {
    "steps": ("optimiser steps of a run", "counted cost"),
    "seconds": ("training time of a run, seconds", "time"),
}
_GOODS = {
    "nll": ("NLL", "calibration", "Lower left is better: cheaper and better calibrated"),
    "f1": ("macro-F1", "macro-F1", "Upper left is better: cheaper and more often right"),
}


def pareto_plane(found: Comparable, cost: Cost = "steps", measure: Literal["nll", "f1"] = "nll") -> Drawn | None:
    """Draw mean cost against mean NLL (or F1) per (schedule, backbone).

    Two Pareto frontiers are drawn, with and without NewOnly.
    """
    points = _plane(found, cost, measure)
    if not points:
        return None
    specs, backbones = list(dict.fromkeys(p.spec for p in points)), list(dict.fromkeys(p.backbone for p in points))
    many, places, (unit, price) = len(backbones) > 1, short_labels(backbones), _UNITS[cost]
    name, good, where = _GOODS[measure]
    by_backbone = dict(zip(backbones, _SHAPES * len(backbones), strict=False))
    # Sizes fall: of marks in one place, all stay visible.
    sizes = dict(zip(specs, np.linspace(9.0, 5.0, len(specs)).tolist(), strict=True))
    with kit.paneled(1, 3.1, _plane_keys(specs, by_backbone if many else {}, places)) as (figure, (axes,)):
        for point in points:
            shape = by_backbone[point.backbone] if many else style_of(point.spec).marker
            kit.mark(axes, point.cost, point.value, shape, sizes[point.spec], style_of(point.spec).light, point.spec)
            if point.spec.startswith("fixed:") and not many:
                at, text = (point.cost, point.value), "@" + point.spec.partition(":")[2]
                axes.annotate(text, at, xytext=(5, 3), textcoords="offset points", fontsize=7, color=MUTED, zorder=6)
        _draw_frontier(axes, points, measure, kit.DASHED, INK)
        if "newonly" in specs:
            _draw_frontier(axes, [p for p in points if p.spec != "newonly"], measure, kit.DOTTED, MUTED)
        split = str(found.measured)
        axes.set(xlabel=unit, ylabel=f"{split} {name}")
        axes.set_title(f"{split.capitalize()} {name} against training cost")
        kit.thousands(axes)
        axes.margins(0.07)
    names = method_names(specs)
    on = [f"{names[p.spec]} on {places[p.backbone]} ({p.cost:,.0f}, {p.value:.3f})" for p in _frontier(points, measure)]
    reading = (
        f"{where}; no point beats those on the dashed line in both, nor, NewOnly left out, those on the dotted one."
    )
    heading = f"The trade between {price} and {good}"
    return Drawn(figure, heading, reading, f"On the frontier of ({cost}, {name}), cheapest first: {joined(on)}.")


def _plane(found: Comparable, cost: Cost, measure: str) -> list[Point]:
    """Return all points in the study's order, or none if the cost or the measure is missing."""
    split, column, specs = found.measured, found.cost(cost), found.methods() or found.methods(fixed=False)
    if split is None or column is None:
        return []
    means = found.runs.groupby(["schedule", "backbone"], sort=False)[[column, f"{split}_{measure}"]].mean()
    rows = zip(means.index.tolist(), means.to_numpy(float).tolist(), strict=True)
    return [Point(*place, *values) for place, values in rows if place[0] in specs]


def _frontier(points: Sequence[Point], measure: str) -> list[Point]:
    """Return the points that no other dominates, cheapest first."""
    sign = -1 if measure == "f1" else 1
    return [points[at] for at in pareto([point.cost for point in points], [sign * point.value for point in points])]


def _draw_frontier(
    axes: Axes, points: Sequence[Point], measure: str, style: tuple[int, tuple[float, ...]], colour: str
) -> None:
    front = _frontier(points, measure)
    xs, ys = [point.cost for point in front], [point.value for point in front]
    axes.plot(xs, ys, color=colour, linewidth=1.1, linestyle=style, zorder=2)


def _plane_keys(specs: list[str], shapes: dict[str, str], names: dict[str, str]) -> list[kit.Key]:
    """Return the legend: colours are schedules, markers are backbones (if several); fixed switches share an entry."""
    fixed = [spec for spec in specs if spec.startswith("fixed:")]
    keys = kit.method_keys([spec for spec in specs if spec not in fixed])
    if fixed:
        keys.append(kit.key("FixedSwitch@k", marker="D", color=style_of(fixed[0]).light))
    for entry in keys:
        entry |= {"linestyle": "none", "markersize": 6, **({"marker": "o"} if shapes else {})}
    keys += [kit.key(names[backbone], marker=shape, color=INK, markersize=6) for backbone, shape in shapes.items()]
    keys.append(kit.key("frontier", linestyle=kit.DASHED, color=INK))
    if "newonly" in specs:
        keys.append(kit.key("w/o NewOnly", linestyle=kit.DOTTED, color=MUTED))
    return keys
