"""Does a choice of the protocol matter? F1 at the end for each value that was tried, such as the subset size N."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from hybridal.evidence.formats import joined, score
from hybridal.evidence.looks import distinct_markers, look
from hybridal.evidence.results import Results
from hybridal.evidence.study_figures._names import labels, method_names
from hybridal.evidence.study_figures._parts import (
    DOTTED,
    columns_of,
    key,
    label_outside,
    legend,
    legend_room,
    method_keys,
    paneled,
)
from hybridal.evidence.study_figures._tables import SEEDS_FOR_A_BAND, measured_split, methods
from hybridal.evidence.study_figures.drawn import Words
from hybridal.evidence.study_figures.varied import Varied, what_varies
from hybridal.evidence.style import COLUMN, INK, styled
from hybridal.study.folder import StudyFolder

_PAIR = ["task", "backbone", "seed"]


def sensitivity(results: Results, folder: StudyFolder, width: float = COLUMN) -> Figure | None:
    """A panel a task: mean F1 of each schedule by the value of what varies, ±1 standard deviation over runs.

    Numbers are joined by lines; values without an order stand beside each other.
    """
    varied, runs = what_varies(folder.study), _paired(results.runs)
    if varied is None or runs is None or not (specs := methods(runs)):
        return None
    split, names = measured_split(runs), labels(runs["task"].unique())
    with styled():
        keys = method_keys(specs)
        if varied.usual is not None:
            keys.append(key("as in the protocol", linestyle=DOTTED, color=INK))
        figure, panels = paneled(len(names), width, 1.85, legend_room(keys, width) + 0.2)
        for axes, (task, name) in zip(panels, names.items(), strict=True):
            table = spread(runs[runs["task"] == task], varied, f"{split}_f1")
            (_lines if varied.ordered else _points)(axes, table, specs)
            _ticks(axes, list(varied.values.values()), width / columns_of(len(names), width))
            if varied.usual is not None:
                axes.axvline(varied.usual, color=INK, linewidth=1, linestyle=DOTTED, zorder=1)
            axes.set_title(name)
        label_outside(panels, width, varied.title, f"{split} macro-F1")
        legend(figure, keys, width)
        return figure


def sensitivity_words(results: Results, folder: StudyFolder) -> Words:
    varied, runs = what_varies(folder.study), _paired(results.runs)
    assert varied is not None
    assert runs is not None
    split, tasks, names = measured_split(runs), labels(runs["task"].unique()), method_names(methods(runs))
    said = []
    for task, name in tasks.items():
        table = spread(runs[runs["task"] == task], varied, f"{split}_f1")
        for spec, method in names.items():
            means = [score(value) for value in table["mean"].xs(spec).tolist()]
            said.append(f"{name}, {method}: {joined(means)}")
    band = ", ±1 standard deviation" if runs["seed"].nunique() >= SEEDS_FOR_A_BAND else ""
    reading = f"Macro-F1 on {split} after the last round{band}; a flat line says that the choice does not matter."
    values = joined([value.replace("\n", " ") for value in varied.values.values()])
    return Words(f"Sensitivity to {varied.title}", reading, f"F1 for {values}. {'; '.join(said)}.")


def spread(runs: pd.DataFrame, varied: Varied, column: str) -> pd.DataFrame:
    """Mean, standard deviation and number of runs, by (schedule, place of the value)."""
    places = {value: at for at, value in enumerate(varied.values)}
    groups = runs.assign(place=runs[varied.column].map(places)).groupby(["schedule", "place"])[column]
    return groups.agg(["mean", "std", "count"]).assign(seeds=runs["seed"].nunique())


def _lines(axes: Axes, table: pd.DataFrame, specs: list[str]) -> None:
    shapes = distinct_markers(specs)
    for spec in specs:
        own, colour = table.loc[spec], look(spec).light
        if own["seeds"].max() >= SEEDS_FOR_A_BAND:
            low, high = own["mean"] - own["std"], own["mean"] + own["std"]
            axes.fill_between(own.index, low, high, color=colour, alpha=0.16, linewidth=0, label=f"band of {spec}")
        axes.plot(own.index, own["mean"], color=colour, marker=shapes[spec], label=spec)


def _points(axes: Axes, table: pd.DataFrame, specs: list[str]) -> None:
    shapes = distinct_markers(specs)
    for at, spec in enumerate(specs):
        own, colour = table.loc[spec], look(spec).light
        places = own.index.to_numpy(float) + 0.5 * (at - (len(specs) - 1) / 2) / len(specs)
        if own["seeds"].max() >= SEEDS_FOR_A_BAND:
            low, high = own["mean"] - own["std"], own["mean"] + own["std"]
            axes.vlines(places, low, high, color=colour, linewidth=1.2, alpha=0.6, label=f"band of {spec}")
        axes.plot(places, own["mean"], color=colour, marker=shapes[spec], markersize=6, linestyle="none", label=spec)
    axes.set_xlim(-0.5, table.index.get_level_values("place").max() + 0.5)


def _ticks(axes: Axes, names: list[str], width: float) -> None:
    longest = [max(map(len, name.split("\n"))) for name in names]
    crowded = 0.08 * sum(longest) > 0.8 * width
    axes.set_xticks(range(len(names)), names, rotation=40 if crowded else 0, fontsize=8)
    axes.grid(axis="x", visible=False)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=4))


def _paired(runs: pd.DataFrame) -> pd.DataFrame | None:
    """The runs of those (task, backbone, seed) that are complete in all settings."""
    if runs.empty or measured_split(runs) is None:
        return None
    settings = len(runs[["acquisition", "variant", "schedule"]].drop_duplicates())
    whole = runs.groupby(_PAIR)["word"].count() == settings
    kept = runs.merge(whole[whole].reset_index()[_PAIR], on=_PAIR)
    return None if kept.empty else kept
