"""When to switch? NLL by the round of the switch, and each signal's regret against the best one of every cell."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from hybridal.evidence import figure_kit as kit
from hybridal.evidence.formats import joined, score
from hybridal.evidence.names import look, method_names
from hybridal.evidence.results import Results
from hybridal.evidence.select import MOST_METHODS, Cost, comparable, cost_column, hybrids, measured_split, specs_of
from hybridal.evidence.statistics.regret import Outcome, optimum, regret
from hybridal.evidence.style import COLUMN, GRID, INK, MUTED, SURFACE, new_figure, styled, whole_rounds
from hybridal.evidence.svg import Drawn

_LINES = {"retrain": kit.DASHED, "finetune": kit.DASHDOT}
_CELL = ["task", "backbone", "seed"]


def switch_tradeoff(results: Results, width: float = COLUMN) -> Drawn | None:
    """A bar a switching schedule: mean NLL, coloured by the mean round that was the first to fine-tune."""
    table = switches(results)
    if table is None:
        return None
    bars = table.drop(index=[spec for spec in _LINES if spec in table.index])
    split, names = measured_split(results.runs), method_names(table.index)
    # matplotlib draws a scale of 50 colours and more as a picture.
    scale, steps = Normalize(1, int(results.runs["rounds"].max())), kit.shades().resampled(40)
    with styled():
        figure = new_figure(1.25 + 0.3 * len(bars), width)
        axes = figure.subplots()
        colours = [GRID if pd.isna(at) else kit.shades()(scale(at)) for at in bars["switch"]]
        axes.barh(range(len(bars)), bars["nll"], height=0.7, color=colours)
        for row, (nll, at, share) in enumerate(bars[["nll", "switch", "switched"]].itertuples(index=False)):
            often = "" if share == 1 else f" ({share:.0%})"
            text = "never switched" if pd.isna(at) else f"{at:.1f}".removesuffix(".0") + often
            ink = INK if pd.isna(at) else kit.ink_on(*colours[row][:3])
            axes.text(0.015 * axes.get_xlim()[1], row, text, va="center", color=ink, fontsize=8)
            end = axes.annotate(score(nll), (nll, row), (4, 0), textcoords="offset points", va="center", fontsize=8)
            end.set_bbox({"facecolor": SURFACE, "edgecolor": "none", "pad": 0.8})
        _references(axes, table["nll"])
        axes.set_yticks(range(len(bars)), list(method_names(bars.index).values()))
        axes.set_ylim(len(bars) - 0.5, -0.6)
        axes.set_xlim(0, 1.1 * table["nll"].max())
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(f"mean {split} NLL")
        colourbar = figure.colorbar(ScalarMappable(scale, steps), ax=axes, aspect=18, pad=0.02)
        colourbar.set_label("first round that fine-tuned, mean")
        colourbar.outline.set_visible(False)
    said = [
        f"{names[str(spec)]} {score(nll)}" + ("" if pd.isna(at) or spec in _LINES else f" (from round {at:.1f})")
        for spec, nll, at in table[["nll", "switch"]].itertuples()
    ]
    reading = (
        "Shorter bars are better calibrated; numbers in the bars and their colour say which round, on average over the "
        "runs that switched (their share in brackets), was the first to fine-tune."
    )
    return Drawn(figure, "When to switch", reading, f"Mean {split} NLL: {joined(said)}.")


def _references(axes: Axes, nll: pd.Series[float]) -> None:
    """The two pure schedules as lines; their names give way to each other where they are close."""
    lines = nll[[spec for spec in nll.index if spec in _LINES]]
    close = len(lines) == 2 and lines.iloc[1] - lines.iloc[0] < 0.25 * nll.max()
    for spec, at, side in zip(map(str, lines.index), lines, ("right", "left"), strict=False):
        axes.axvline(at, color=look(spec).light, linestyle=_LINES[spec], linewidth=1.5)
        above, name = axes.get_xaxis_transform(), method_names([spec])[spec]
        options: dict[str, Any] = {"ha": side if close else "center", "fontsize": 8, "color": look(spec).light}
        axes.annotate(name, (at, 1), (0, 2), above, "offset points", **options)


def switches(results: Results) -> pd.DataFrame | None:
    """A row a schedule, by NLL: `nll`, the mean first round that fine-tuned as `switch`, the share that `switched`."""
    found = comparable(results)
    if found is None or (split := measured_split(found.runs)) is None:
        return None
    kinds = found.runs["schedule"].str.partition(":")[0]
    groups = found.runs[kinds.isin(["retrain", "finetune", "fixed", "hybrid"])].groupby("schedule", sort=False)
    first = groups["first_finetune"]
    columns = {"nll": groups[f"{split}_nll"].mean(), "switch": first.mean(), "switched": first.count() / groups.size()}
    table = pd.DataFrame(columns).sort_values("nll", kind="stable")
    bars = len(table.index.difference(list(_LINES)))
    return table if 2 <= bars <= MOST_METHODS else None


def regret_by_signal(results: Results, cost: Cost = "steps", width: float = COLUMN) -> Drawn | None:
    """Regret of every switch round and of each signal, how often F1 is kept, and the regrets of single cells."""
    table = regrets(results, cost)
    if table is None:
        return None
    specs = [spec for spec in specs_of(table) if spec]
    names, means = method_names(specs), averages(table)
    with styled():
        keys = [
            *kit.method_keys(specs),
            kit.key("misses the F1 bound", marker="o", color=MUTED, markerfacecolor=SURFACE),
        ]
        rows = 0.3 * len(specs)
        if kit.is_full(width):
            figure = new_figure(max(2.9, rows + 0.9) + kit.legend_room(keys, width), width)
            panels = figure.subplot_mosaic([["curve", "cells"], ["kept", "cells"]], height_ratios=[3, 1])
        else:
            figure = new_figure(3.5 + rows + kit.legend_room(keys, width), width)
            panels = figure.subplot_mosaic([["curve"], ["kept"], ["cells"]], height_ratios=[2.1, 0.6, 0.25 + rows])
        _curve(panels["curve"], panels["kept"], table)
        _cells(panels["cells"], table, names)
        kit.legend(figure, keys, width)
    said = [
        f"{names[spec]} {score(None if np.isnan(mean) else mean)} (switch round {switch:.1f} on average, "
        f"best {best:.1f}, F1 kept in {kept:.0%} of cells)"
        for spec, (switch, best, kept, mean) in zip(specs, means.loc[specs].to_numpy(float).tolist(), strict=True)
    ]
    reading = (
        "0 is the best switch round of each cell, found by trying all: the lowest cost / Retrain's + ½ NLL / Retrain's "
        "whose F1 is at most 0.01 below the better of Retrain and FineTune; means are over cells that keep that bound."
    )
    return Drawn(figure, "Regret against the best switch round", reading, f"Mean regret: {joined(said)}.")


def _curve(axes: Axes, below: Axes, table: pd.DataFrame) -> None:
    every = table[table["schedule"] == ""]
    mean = every[every["feasible"]].groupby("switch")["regret"].mean()
    kept = every.groupby("switch")["feasible"].mean()
    last = int(every["switch"].max())
    axes.plot(mean.index, mean, color=MUTED, linewidth=1.6, label="every switch round")
    for spec, row in averages(table).iterrows():
        found = look(str(spec))
        kit.mark(axes, row["switch"], row["regret"], found.marker, 7, found.light, str(spec))
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


def _cells(axes: Axes, table: pd.DataFrame, names: dict[str, str]) -> None:
    means = averages(table)["regret"]
    for row, spec in enumerate(names):
        own, colour = table[table["schedule"] == spec], look(spec).light
        for feasible, face in ((False, SURFACE), (True, colour)):
            values = own.loc[own["feasible"] == feasible, "regret"].to_numpy(float)
            axes.plot(values, np.full(len(values), row), marker="o", markersize=4, color=colour, alpha=0.6,
                      markerfacecolor=face, linestyle="none", label=f"{spec} {feasible}")  # fmt: skip
        axes.plot([float(means[spec])] * 2, [row - 0.32, row + 0.32], color=INK, linewidth=1.6)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(names)), list(names.values()))
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.set_title("Regret of single cells, mean as a bar")


def regrets(results: Results, cost: Cost = "steps") -> pd.DataFrame | None:
    """A row a cell and switch round (`schedule` is empty), and a row a cell and schedule that switches or is pure.

    None where no cell has tried every switch round, or no hybrid schedule ran.
    """
    found = comparable(results)
    if found is None:
        return None
    runs, split, column = found.runs, measured_split(found.runs), cost_column(found.runs, cost)
    watching = hybrids(specs_of(runs))
    if split is None or column is None or not watching:
        return None
    last = int(runs["rounds"].max()) + 1
    # The word decides: whatever schedule came to a switch round, its outcome is the same.
    runs = runs.assign(switch=[_switch(word) for word in runs["word"]]).dropna(subset="switch")
    rows = []
    for cell, own in runs.groupby(_CELL, sort=False):
        tried = own.drop_duplicates("switch").sort_values("switch")
        if len(tried) < last:
            continue
        outcomes = [Outcome(*one) for one in tried[[column, f"{split}_nll", f"{split}_f1"]].to_numpy(float).tolist()]
        best = optimum(outcomes, relative_nll=True)
        named = [(str(spec), int(s)) for spec, s in zip(own["schedule"], own["switch"], strict=True)]
        chosen = [("", s) for s in range(1, last + 1)]
        chosen += [(spec, s) for spec, s in named if spec in _LINES or spec in watching]
        for spec, s in chosen:
            one = regret(outcomes, s, best)
            rows.append((*cell, spec, s, one.regret, one.feasible, one.rounds_off, best.switch))
    columns = [*_CELL, "schedule", "switch", "regret", "feasible", "rounds_off", "best"]
    return pd.DataFrame(rows, columns=columns) if rows else None


def averages(table: pd.DataFrame) -> pd.DataFrame:
    """A row a schedule: mean switch and best round, the share of cells that keep F1, and the regret of those."""
    named = table[table["schedule"] != ""]
    means = named.groupby("schedule", sort=False)[["switch", "best", "feasible"]].mean()
    return means.assign(regret=named[named["feasible"]].groupby("schedule")["regret"].mean())


def _switch(word: str) -> float:
    """The first fine-tuned round of a word that retrains and then fine-tunes; not a number for other words.

    >>> _switch("RRFF"), _switch("FF"), _switch("RR"), _switch("NN")
    (3.0, 1.0, 3.0, nan)
    """
    return word.count("R") + 1.0 if re.fullmatch("R*F*", word) else np.nan
