"""What does calibration cost? Every schedule on every backbone, by cost and by NLL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from hybridal.evidence.formats import joined
from hybridal.evidence.looks import look
from hybridal.evidence.results import Results
from hybridal.evidence.statistics.pareto import pareto
from hybridal.evidence.study_figures._names import labels, method_names
from hybridal.evidence.study_figures._parts import (
    DASHED,
    DOTTED,
    key,
    legend,
    legend_room,
    mark,
    method_keys,
    paneled,
    sorted_sizes,
    thousands,
)
from hybridal.evidence.study_figures._tables import Cost, comparable, cost_column, measured_split, methods
from hybridal.evidence.study_figures.drawn import Words
from hybridal.evidence.style import COLUMN, INK, MUTED, styled
from hybridal.study.folder import StudyFolder

_SHAPES = "osD^vPXph"


class Point(NamedTuple):
    """A schedule on a backbone: mean cost and mean NLL over tasks and seeds."""

    spec: str
    backbone: str
    cost: float
    nll: float


def pareto_plane(results: Results, _folder: StudyFolder, cost: Cost = "steps", width: float = COLUMN) -> Figure | None:
    """Mean cost against mean NLL of each (schedule, backbone), with the frontier of all and that without NewOnly."""
    points = plane(results, cost)
    if not points:
        return None
    backbones, specs = (
        list(dict.fromkeys(names)) for names in ([p.backbone for p in points], [p.spec for p in points])
    )
    many = len(backbones) > 1
    shapes = (
        dict(zip(backbones, _SHAPES * len(backbones), strict=False)) if many else {s: look(s).marker for s in specs}
    )
    sizes = dict(zip(specs, sorted_sizes(len(specs)), strict=True))
    with styled():
        keys = _keys(specs, shapes if many else {}, labels(backbones))
        figure, (axes,) = paneled(1, width, 3.1, legend_room(keys, width))
        for point in points:
            shape = shapes[point.backbone if many else point.spec]
            mark(axes, point.cost, point.nll, shape, sizes[point.spec], look(point.spec).light, point.spec)
            if point.spec.startswith("fixed:") and not many:
                _above(axes, point, "@" + point.spec.partition(":")[2])
        _frontier(axes, points, DASHED, INK)
        if "newonly" in specs:
            _frontier(axes, [point for point in points if point.spec != "newonly"], DOTTED, MUTED)
        split = str(measured_split(results.runs))
        axes.set(xlabel=_UNITS[cost], ylabel=f"{split} NLL")
        axes.set_title(f"{split.capitalize()} NLL against training cost")
        thousands(axes)
        axes.margins(0.07)
        legend(figure, keys, width)
        return figure


_UNITS = {"steps": "optimiser steps of a run", "seconds": "training time of a run, seconds"}


def pareto_words(results: Results, _folder: StudyFolder, cost: Cost = "steps") -> Words:
    points = plane(results, cost)
    names, backbones = method_names([point.spec for point in points]), labels([point.backbone for point in points])
    on = [
        f"{names[point.spec]} on {backbones[point.backbone]} ({point.cost:,.0f}, {point.nll:.3f})"
        for point in frontier(points)
    ]
    reading = (
        "Lower left is better: cheaper and better calibrated; no point beats those on the dashed line in both, nor, "
        "NewOnly left out, those on the dotted one."
    )
    unit, heading = {
        "steps": ("steps", "The trade between counted cost and calibration"),
        "seconds": ("seconds", "The trade between time and calibration"),
    }[cost]
    return Words(heading, reading, f"On the frontier of ({unit}, NLL), cheapest first: {joined(on)}.")


def plane(results: Results, cost: Cost = "steps") -> list[Point]:
    """All points in the study's order; none where cost or NLL was not measured."""
    found = comparable(results)
    if found is None:
        return []
    runs, split, column = found.runs, measured_split(found.runs), cost_column(found.runs, cost)
    if split is None or column is None:
        return []
    specs = methods(runs) or methods(runs, fixed=False)
    means = runs.groupby(["schedule", "backbone"], sort=False)[[column, f"{split}_nll"]].mean()
    rows = zip(means.index.tolist(), means.to_numpy(float).tolist(), strict=True)
    return [Point(*place, *values) for place, values in rows if place[0] in specs]


def frontier(points: Sequence[Point]) -> list[Point]:
    """The points that no other beats, cheapest first.

    >>> frontier([Point("a", "b", 3, 0.2), Point("c", "b", 1, 0.5), Point("d", "b", 3, 0.6)])
    [Point(spec='c', backbone='b', cost=1, nll=0.5), Point(spec='a', backbone='b', cost=3, nll=0.2)]
    """
    return [points[at] for at in pareto([point.cost for point in points], [point.nll for point in points])]


def _frontier(axes: Axes, points: Sequence[Point], style: tuple[int, tuple[float, ...]], colour: str) -> None:
    front = frontier(points)
    xs, ys = [point.cost for point in front], [point.nll for point in front]
    axes.plot(xs, ys, color=colour, linewidth=1.1, linestyle=style, zorder=2)


def _above(axes: Axes, point: Point, text: str) -> None:
    at = (point.cost, point.nll)
    axes.annotate(text, at, xytext=(5, 3), textcoords="offset points", fontsize=7, color=MUTED, zorder=6)


def _keys(specs: list[str], shapes: dict[str, str], names: dict[str, str]) -> list[Line2D]:
    """Colours are schedules, and shapes backbones where there are several; fixed switches share one entry."""
    fixed = [spec for spec in specs if spec.startswith("fixed:")]
    keys = method_keys([spec for spec in specs if spec not in fixed])
    if fixed:
        keys.append(key("FixedSwitch@k", marker="D", color=look(fixed[0]).light))
    for entry in keys:
        entry.set(linestyle="none", markersize=6)
        if shapes:
            entry.set_marker("o")
    keys += [key(names[backbone], marker=shape, color=INK, markersize=6) for backbone, shape in shapes.items()]
    keys.append(key("frontier", linestyle=DASHED, color=INK))
    if "newonly" in specs:
        keys.append(key("w/o NewOnly", linestyle=DOTTED, color=MUTED))
    return keys
