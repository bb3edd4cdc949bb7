"""When to switch? NLL by the round of the switch, and each signal's regret against the best one of every cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from hybridal.lab.reports.comparable import MAX_METHODS, Comparable
from hybridal.lab.statistics.regret import regrets
from hybridal.lab.study.study_results import FINETUNE, RETRAIN, rules
from hybridal.reports import figure_kit as kit
from hybridal.reports.display_names import method_names, schedule_of, style_of
from hybridal.reports.figure_style import GRID, INK, MUTED, SURFACE, Drawn, whole_rounds
from hybridal.reports.number_formats import joined, score

_LINES = {RETRAIN: kit.DASHED, FINETUNE: kit.DASHDOT}


def switch_tradeoff(found: Comparable) -> Drawn | None:
    """Draw one bar per switching schedule: its mean NLL, coloured by its mean first fine-tuned round."""
    table = _switches(found)
    if table is None:
        return None
    bars = table.drop(index=[spec for spec in _LINES if spec in table.index])
    split, names = found.measured, method_names(table.index)
    # matplotlib draws a scale of 50 colours and more as a picture.
    scale, steps = Normalize(1, int(found.runs["rounds"].max())), kit.shades().resampled(40)
    with kit.drawing(1.25 + 0.3 * len(bars)) as figure:
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
        kit.rows(axes, list(method_names(bars.index).values()), top=-0.6)
        axes.set_xlim(0, 1.1 * table["nll"].max())
        axes.set_xlabel(f"mean {split} NLL")
        colourbar = figure.colorbar(ScalarMappable(scale, steps), ax=axes, aspect=18, pad=0.02)
        colourbar.set_label("first round that\nfine-tuned, mean")  # two bars are not as high as this is long
        colourbar.outline.set_visible(False)
    sentences = [
        f"{names[str(spec)]} {score(nll)}" + ("" if pd.isna(at) or spec in _LINES else f" (from round {at:.1f})")
        for spec, nll, at in table[["nll", "switch"]].itertuples()
    ]
    reading = (
        "Shorter bars are better calibrated; numbers in the bars and their colour say which round, on average over the "
        "runs that switched (their share in brackets), was the first to fine-tune."
    )
    return Drawn(figure, "When to switch", reading, f"Mean {split} NLL: {joined(sentences)}.")


def _references(axes: Axes, nll: pd.Series[float]) -> None:
    """Draw the two pure schedules as lines; labels that would overlap are moved apart."""
    lines = nll[[spec for spec in nll.index if spec in _LINES]]
    close = len(lines) == 2 and lines.iloc[1] - lines.iloc[0] < 0.25 * nll.max()
    for spec, at, side in zip(map(str, lines.index), lines, ("right", "left"), strict=False):
        axes.axvline(at, color=style_of(spec).light, linestyle=_LINES[spec], linewidth=1.5)
        above, name = axes.get_xaxis_transform(), method_names([spec])[spec]
        options: dict[str, Any] = {"ha": side if close else "center", "fontsize": 8, "color": style_of(spec).light}
        axes.annotate(name, (at, 1), (0, 2), above, "offset points", **options)


def _switches(found: Comparable) -> pd.DataFrame | None:
    """Return, per schedule sorted by NLL: `nll`, `switch` (mean first fine-tuned round), `switched` (share of runs)."""
    if (split := found.measured) is None:
        return None
    rounds = int(found.runs["rounds"].max())
    able = [spec for spec in found.specs if schedule_of(spec).switch_rounds(rounds) is not None]
    groups = found.runs[found.runs["schedule"].isin(able)].groupby("schedule", sort=False)
    first = groups["first_finetune"]
    columns = {"nll": groups[f"{split}_nll"].mean(), "switch": first.mean(), "switched": first.count() / groups.size()}
    table = pd.DataFrame(columns).sort_values("nll", kind="stable")
    bars = len(table.index.difference(list(_LINES)))
    return table if 2 <= bars <= MAX_METHODS else None


def regret_by_signal(found: Comparable) -> Drawn | None:
    """Draw the regret of every switch round and signal, the share of cells that keep F1, and the regrets of cells."""
    table = _regrets(found)
    if table is None:
        return None
    specs = [str(spec) for spec in table["schedule"].unique() if spec]
    names, means = method_names(specs), _averages(table)
    keys = [*kit.method_keys(specs), kit.key("misses the F1 bound", marker="o", markerfacecolor=SURFACE)]
    rows = 0.3 * len(specs)
    with kit.drawing(3.5 + rows, keys) as figure:
        panels = figure.subplot_mosaic("a;b;c", height_ratios=[2.1, 0.6, 0.25 + rows])
        _curve(panels["a"], panels["b"], table)
        _cells(panels["c"], table, names)
    sentences = [
        f"{names[spec]} {score(None if np.isnan(mean) else mean)} (switch round {switch:.1f} on average, "
        f"best {best:.1f}, F1 kept in {kept:.0%} of cells)"
        for spec, (switch, best, kept, mean) in zip(specs, means.loc[specs].to_numpy(float).tolist(), strict=True)
    ]
    reading = (
        "0 is the best switch round of each cell, found by trying all: the lowest cost / Retrain's + ½ NLL / Retrain's "
        "whose F1 is at most 0.01 below the better of Retrain and FineTune; means are over cells that keep that bound."
    )
    return Drawn(figure, "Regret against the best switch round", reading, f"Mean regret: {joined(sentences)}.")


def _curve(axes: Axes, below: Axes, table: pd.DataFrame) -> None:
    every = table[table["schedule"] == ""]
    mean = every[every["feasible"]].groupby("switch")["regret"].mean()
    kept = every.groupby("switch")["feasible"].mean()
    last = int(every["switch"].max())
    axes.plot(mean.index, mean, color=MUTED, linewidth=1.6, label="every switch round")
    for spec, row in _averages(table).iterrows():
        found = style_of(str(spec))
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
    means = _averages(table)["regret"]
    for row, spec in enumerate(names):
        own, colour = table[table["schedule"] == spec], style_of(spec).light
        for feasible, face in ((False, SURFACE), (True, colour)):
            values = own.loc[own["feasible"] == feasible, "regret"].to_numpy(float)
            axes.plot(values, np.full(len(values), row), marker="o", markersize=4, color=colour, alpha=0.6,
                      markerfacecolor=face, linestyle="none", label=f"{spec} {feasible}")  # fmt: skip
        axes.plot([float(means[spec])] * 2, [row - 0.32, row + 0.32], color=INK, linewidth=1.6)
    axes.axvline(0, color=INK, linewidth=0.8)
    kit.rows(axes, list(names.values()))
    axes.set_title("Regret of single cells, mean as a bar")


def _regrets(found: Comparable) -> pd.DataFrame | None:
    """Return one row per cell and switch round (`schedule` is empty) and per cell and switching or pure schedule.

    None if no cell has every switch round, or no hybrid schedule ran.
    """
    watching, column = rules(found.specs), found.cost("steps")
    if found.measured is None or column is None or not watching:
        return None
    table = regrets(found.runs, column)
    table = table[table["schedule"].isin(["", *_LINES, *watching])]
    return None if table.empty else table


def _averages(table: pd.DataFrame) -> pd.DataFrame:
    """Return, per schedule: mean switch and best round, the share of cells that keep F1, and the regret of those."""
    named = table[table["schedule"] != ""]
    means = named.groupby("schedule", sort=False)[["switch", "best", "feasible"]].mean()
    return means.assign(regret=named[named["feasible"]].groupby("schedule")["regret"].mean())
