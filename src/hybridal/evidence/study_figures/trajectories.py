"""How schedules learn: validation F1 or NLL round by round, for tasks of two classes and of more."""

from __future__ import annotations

from typing import Literal

from matplotlib.figure import Figure

from hybridal.evidence.formats import counted, joined, score
from hybridal.evidence.results import Results
from hybridal.evidence.study_figures._curves import draw_curves, mean_curves, zoom
from hybridal.evidence.study_figures._names import method_names
from hybridal.evidence.study_figures._parts import (
    STAR_KEY,
    key,
    label_outside,
    legend,
    legend_room,
    method_keys,
    paneled,
)
from hybridal.evidence.study_figures._tables import by_family, comparable, methods
from hybridal.evidence.study_figures.drawn import Words
from hybridal.evidence.style import COLUMN, styled, whole_rounds
from hybridal.study.folder import StudyFolder

Measure = Literal["f1", "nll"]

_NAMES = {"f1": "validation macro-F1", "nll": "validation NLL"}
_CORNERS = {"f1": "lower", "nll": "upper"}


def trajectories(
    results: Results, folder: StudyFolder, measure: Measure = "f1", width: float = COLUMN
) -> Figure | None:
    """Means over runs by round, ±1 SEM, a star at each schedule's mean t*, and an inset of the last rounds.

    Fixed switches are left out: their curves are FineTune's or Retrain's before and after the switch.
    """
    found = _found(results, measure)
    if found is None:
        return None
    specs = methods(found.runs, fixed=False)
    parts = list(by_family(found, folder))
    with styled():
        keys = method_keys(specs)
        if found.runs["t_star"].notna().any():
            keys.append(key("mean t*", **STAR_KEY))
        figure, panels = paneled(len(parts), width, 2.35, legend_room(keys, width))
        for axes, (family, part) in zip(panels, parts, strict=True):
            curves = mean_curves(part, f"validation_{measure}", specs)
            draw_curves(axes, curves)
            whole_rounds(axes, int(part.runs["rounds"].max()))
            axes.set_title(f"{family}: {_NAMES[measure]}")
            zoom(axes, curves, _CORNERS[measure])
        label_outside(panels, width, "round")
        legend(figure, keys, width)
        return figure


def trajectory_words(results: Results, folder: StudyFolder, measure: Measure = "f1") -> Words:
    found = _found(results, measure)
    assert found is not None
    specs = methods(found.runs, fixed=False)
    names = method_names(specs)
    said, banded = [], False
    for family, part in by_family(found, folder):
        curves = mean_curves(part, f"validation_{measure}", specs)
        banded = any(curve.sem is not None for curve in curves.values())
        ends = [f"{names[spec]} {score(float(curve.mean[-1]))}" for spec, curve in curves.items()]
        said.append(f"{family}, {_NAMES[measure]} in the last round: {joined(ends)}.")
    band = " with ±1 standard error" if banded else ""
    better = "higher" if measure == "f1" else "lower"
    heading = "How F1 grows" if measure == "f1" else "How calibration develops"
    runs = counted(len(found.runs) // found.runs["schedule"].nunique(), "run")
    reading = f"Mean {_NAMES[measure]} of {runs} a schedule{band}, {better} is better; stars stand at the mean t*."
    return Words(heading, reading, " ".join(said))


def _found(results: Results, measure: Measure) -> Results | None:
    found = comparable(results)
    if found is None or not methods(found.runs, fixed=False):
        return None
    return None if found.rounds[f"validation_{measure}"].isna().any() else found
