"""How far is each signal from the best switch round? Regret against the offline optimum of every cell."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hybridal.evidence.formats import joined, score
from hybridal.evidence.looks import look
from hybridal.evidence.results import Results
from hybridal.evidence.study_figures._names import method_names
from hybridal.evidence.study_figures._parts import is_full, key, legend, legend_room, mark, method_keys
from hybridal.evidence.study_figures._tables import Cost
from hybridal.evidence.study_figures.drawn import Words
from hybridal.evidence.study_figures.regrets import averages, regrets
from hybridal.evidence.style import COLUMN, INK, MUTED, SURFACE, new_figure, styled, whole_rounds
from hybridal.study.folder import StudyFolder


def regret_by_signal(
    results: Results, _folder: StudyFolder, cost: Cost = "steps", width: float = COLUMN
) -> Figure | None:
    """Regret of every switch round and of each signal, how often F1 is kept, and the regrets of single cells."""
    table = regrets(results, cost)
    if table is None:
        return None
    specs = [spec for spec in table["schedule"].unique() if spec]
    with styled():
        keys = [*method_keys(specs), key("misses the F1 bound", marker="o", color=MUTED, markerfacecolor=SURFACE)]
        rows = 0.3 * len(specs)
        if is_full(width):
            figure = new_figure(max(2.9, rows + 0.9) + legend_room(keys, width), width)
            panels = figure.subplot_mosaic([["curve", "cells"], ["kept", "cells"]], height_ratios=[3, 1])
        else:
            figure = new_figure(3.5 + rows + legend_room(keys, width), width)
            panels = figure.subplot_mosaic([["curve"], ["kept"], ["cells"]], height_ratios=[2.1, 0.6, 0.25 + rows])
        _curve(panels["curve"], panels["kept"], table)
        _cells(panels["cells"], table, specs)
        legend(figure, keys, width)
        return figure


def regret_words(results: Results, _folder: StudyFolder, cost: Cost = "steps") -> Words:
    table = regrets(results, cost)
    assert table is not None
    specs = [spec for spec in table["schedule"].unique() if spec]
    names, means = method_names(specs), averages(table)
    said = [
        f"{names[spec]} {score(None if np.isnan(mean) else mean)} (switch round {switch:.1f} on average, "
        f"best {best:.1f}, F1 kept in {kept:.0%} of cells)"
        for spec, (switch, best, kept, mean) in zip(specs, means.loc[specs].to_numpy(float).tolist(), strict=True)
    ]
    reading = (
        "0 is the best switch round of each cell, found by trying all: the lowest cost / Retrain's + ½ NLL / Retrain's "
        "whose F1 is at most 0.01 below the better of Retrain and FineTune; means are over cells that keep that bound."
    )
    return Words("Regret against the best switch round", reading, f"Mean regret: {joined(said)}.")


def _curve(axes: Axes, below: Axes, table: pd.DataFrame) -> None:
    every = table[table["schedule"] == ""]
    mean = every[every["feasible"]].groupby("switch")["regret"].mean()
    kept = every.groupby("switch")["feasible"].mean()
    last = int(every["switch"].max())
    axes.plot(mean.index, mean, color=MUTED, linewidth=1.6, label="every switch round")
    for spec, row in averages(table).iterrows():
        found = look(str(spec))
        mark(axes, row["switch"], row["regret"], found.marker, 7, found.light, str(spec))
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_title("Mean regret by switch round")
    below.bar(kept.index, kept, width=0.8, color=MUTED, alpha=0.4)
    below.set(ylim=(0, 1), title="Share of cells that keep F1")
    below.set_yticks([0, 1], ["0", "1"])
    for one in (axes, below):
        whole_rounds(one, last)
        one.set_xlabel("")
    axes.tick_params(labelbottom=False)
    below.set_xlabel(f"first round that fine-tunes ({last}: none)")


def _cells(axes: Axes, table: pd.DataFrame, specs: list[str]) -> None:
    names, means = method_names(specs), averages(table)
    for row, spec in enumerate(specs):
        own, colour = table[table["schedule"] == spec], look(spec).light
        for feasible, face in ((False, SURFACE), (True, colour)):
            values = own.loc[own["feasible"] == feasible, "regret"].to_numpy(float)
            axes.plot(values, np.full(len(values), row), marker="o", markersize=4, color=colour, alpha=0.6,
                      markerfacecolor=face, linestyle="none", label=f"{spec} {feasible}")  # fmt: skip
        axes.plot([float(means["regret"][spec])] * 2, [row - 0.32, row + 0.32], color=INK, linewidth=1.6)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(specs)), list(names.values()))
    axes.set_ylim(len(specs) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.set_title("Regret of single cells, mean as a bar")
