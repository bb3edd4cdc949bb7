"""Is F1 kept? How the runs of each schedule end, for tasks of two classes and of more."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from hybridal.evidence.formats import joined, score
from hybridal.evidence.looks import look
from hybridal.evidence.results import Results
from hybridal.evidence.study_figures._names import method_names
from hybridal.evidence.study_figures._tables import by_family, comparable, measured_split, methods
from hybridal.evidence.study_figures.drawn import Words
from hybridal.evidence.style import COLUMN, INK, SURFACE, new_figure, styled
from hybridal.study.folder import StudyFolder

# Fewer runs are shown one by one: a density of them would be invented.
_RUNS_FOR_A_DENSITY = 6


def violins(results: Results, folder: StudyFolder, width: float = COLUMN) -> Figure | None:
    """A violin a schedule and family: the density of F1 at the end, its median as a dot, its quartiles as a bar."""
    found = _found(results)
    if found is None:
        return None
    specs, split = _specs(found), measured_split(found.runs)
    parts = list(by_family(found, folder))
    with styled():
        figure = new_figure(0.75 + 0.31 * len(specs), width)
        panels = figure.subplots(1, len(parts), sharey=True, squeeze=False)[0]
        for axes, (family, part) in zip(panels, parts, strict=True):
            for row, spec in enumerate(specs):
                values = part.runs.loc[part.runs["schedule"] == spec, f"{split}_f1"].to_numpy(dtype=float)
                _violin(axes, values, row, look(spec).light)
            axes.set_title(family, loc="left" if len(parts) == 1 else "center")
            axes.set_xlabel(f"{split} macro-F1")
            axes.xaxis.set_major_locator(MaxNLocator(nbins=4 if width < 6 else 7, steps=[1, 2, 5, 10]))
            axes.grid(axis="y", visible=False)
            axes.spines["left"].set_visible(False)
        panels[0].set_yticks(range(len(specs)), list(method_names(specs).values()))
        panels[0].set_ylim(len(specs) - 0.45, -0.55)
        return figure


def violin_words(results: Results, folder: StudyFolder) -> Words:
    found = _found(results)
    assert found is not None
    specs, split = _specs(found), measured_split(found.runs)
    names = method_names(specs)
    said, most = [], 0
    for family, part in by_family(found, folder):
        most = max(most, int(part.runs["schedule"].value_counts().max()))
        middle = part.runs.groupby("schedule")[f"{split}_f1"].median()
        said.append(f"{family}, median: {joined([f'{names[spec]} {score(middle[spec])}' for spec in specs])}.")
    marks = "dots are medians, bars quartiles" if most >= _RUNS_FOR_A_DENSITY else "dots are runs, bars their median"
    reading = f"Macro-F1 on {split} after the last round, all runs of a schedule; {marks}."
    return Words("How good the last models are", reading, " ".join(said))


def _found(results: Results) -> Results | None:
    found = comparable(results)
    return found if found is not None and measured_split(found.runs) and _specs(found) else None


def _specs(found: Results) -> list[str]:
    return methods(found.runs) or methods(found.runs, fixed=False)


def _violin(axes: Axes, values: NDArray[np.float64], row: int, colour: str) -> None:
    if len(values) < _RUNS_FOR_A_DENSITY or np.ptp(values) == 0:
        axes.plot(
            values, np.full(len(values), row), marker="o", markersize=5, color=colour, alpha=0.6, linestyle="none"
        )
        axes.plot([np.median(values)] * 2, [row - 0.3, row + 0.3], color=INK, linewidth=1.4)
        return
    from scipy.stats import gaussian_kde  # takes a while to load

    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    at = np.linspace(values.min(), values.max(), 120)
    density = gaussian_kde(values)(at)
    half = 0.42 * density / density.max()
    axes.fill_between(at, row - half, row + half, color=colour, alpha=0.45, linewidth=0)
    axes.plot([low, high], [row, row], color=INK, linewidth=3.4, solid_capstyle="butt")
    axes.plot([middle], [row], marker="o", markersize=4.2, color=SURFACE, markeredgecolor=INK, markeredgewidth=0.8)
