"""Is one schedule best at everything? Speed and calibration, task by task."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.projections.polar import PolarAxes

from hybridal.evidence.formats import joined
from hybridal.evidence.looks import distinct_markers, look
from hybridal.evidence.results import Results
from hybridal.evidence.study_figures._names import labels, method_names
from hybridal.evidence.study_figures._parts import is_full, legend, legend_room, method_keys, paneled
from hybridal.evidence.study_figures._tables import Cost, comparable, cost_column, measured_split, methods
from hybridal.evidence.study_figures.drawn import Words
from hybridal.evidence.style import COLUMN, GRID, styled
from hybridal.study.folder import StudyFolder

# Two axes make a line, not a shape; and shapes that lie on each other soon cannot be told apart.
_TASKS, _METHODS = 3, 6


def radar(results: Results, _folder: StudyFolder, cost: Cost = "steps", width: float = COLUMN) -> Figure | None:
    """Two radars with an axis a task: speed by counted steps (or seconds), and calibration by NLL, outside is best."""
    found = _profiles(results, cost)
    if found is None:
        return None
    specs = list(next(iter(found.values())).columns)
    with styled():
        keys = method_keys(specs)
        figure, panels = paneled(2, width, 3.4 if is_full(width) else 2.45, legend_room(keys, width), polar=True)
        for axes, (title, profile) in zip(panels, found.items(), strict=True):
            assert isinstance(axes, PolarAxes)
            _draw(axes, profile)
            axes.set_title(title, loc="center", pad=8)
        legend(figure, keys, width)
        return figure


def radar_words(results: Results, _folder: StudyFolder, cost: Cost = "steps") -> Words:
    found = _profiles(results, cost)
    assert found is not None
    said = []
    for title, profile in found.items():
        names = method_names(profile.columns)
        means = {spec: float(profile[spec].mean()) for spec in names}
        best = max(means, key=lambda spec: means[spec])
        wins = {spec: int((profile[spec] == 1).sum()) for spec in names}
        said.append(f"{title}: {names[best]} has the largest mean, {means[best]:.2f} of 1; ")
        firsts = [f"{names[spec]} on {count}" for spec, count in wins.items() if count]
        said.append(f"best are {joined(firsts)} of {len(profile)} tasks. ")
    unit = "optimiser steps" if cost == "steps" else "training seconds"
    reading = (
        f"Each axis is a task, scaled from the worst schedule (inner ring) to the best (rim); "
        f"speed counts {unit}, calibration is the NLL at the end."
    )
    return Words("Speed and calibration, task by task", reading, "".join(said).strip())


def scaled(runs: pd.DataFrame, column: str, specs: list[str]) -> pd.DataFrame:
    """A row a task, a column a schedule: the mean of a cost, from 1 for the lowest of the task to 0 for the highest."""
    table = runs.pivot_table(index="task", columns="schedule", values=column, aggfunc="mean", sort=False)[specs]
    low, high = table.min(axis=1), table.max(axis=1)
    span = (high - low).replace(0, np.inf)  # where all are equal, all are best
    return 1 - table.sub(low, axis=0).div(span, axis=0)


def _profiles(results: Results, cost: Cost) -> dict[str, pd.DataFrame] | None:
    found = comparable(results)
    if found is None:
        return None
    runs = found.runs
    specs, split, column = methods(runs, fixed=False), measured_split(runs), cost_column(runs, cost)
    if not 2 <= len(specs) <= _METHODS or split is None or column is None or runs["task"].nunique() < _TASKS:
        return None
    return {"Speed": scaled(runs, column, specs), "Calibration": scaled(runs, f"{split}_nll", specs)}


def _draw(axes: PolarAxes, profile: pd.DataFrame) -> None:
    angles = np.linspace(0, 2 * np.pi, len(profile), endpoint=False)
    around = np.append(angles, angles[0])
    shapes = distinct_markers(profile.columns)
    for spec in profile.columns:
        values = profile[spec].to_numpy(dtype=float)
        colour = look(spec).light
        closed = np.append(values, values[0])
        axes.fill(around, closed, color=colour, alpha=0.07, linewidth=0)
        axes.plot(around, closed, color=colour, linewidth=1.4, marker=shapes[spec], markersize=3.5, label=spec)
    axes.set_theta_offset(np.pi / 2)
    axes.set_theta_direction(-1)
    # The worst is a ring of its own: at the very centre all axes would share it.
    axes.set_ylim(-0.35, 1.03)
    axes.set_yticks([0, 0.5, 1], ["", "", ""])
    names = labels(profile.index, 14)
    axes.set_xticks(angles, [names[task] for task in profile.index])
    axes.tick_params(axis="x", pad=0, labelsize=8)
    for angle, label in zip(angles, axes.get_xticklabels(), strict=True):
        side = round(np.sin(angle), 6)
        label.set_horizontalalignment("left" if side > 0 else "right" if side < 0 else "center")
    axes.spines["polar"].set_visible(False)
    axes.grid(color=GRID)
