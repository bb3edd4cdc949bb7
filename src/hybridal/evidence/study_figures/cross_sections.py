"""Which ε and k? F1, NLL and cost of every pair on the grid, and the pair that the paper's rule chooses."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from hybridal.evidence.formats import change, threshold
from hybridal.evidence.results import Results
from hybridal.evidence.statistics.tuning import Setting, select
from hybridal.evidence.study_figures._names import signal_name
from hybridal.evidence.study_figures._parts import STAR_KEY, is_full, key, legend, legend_room, shades, star, thousands
from hybridal.evidence.study_figures._tables import Cost, comparable, cost_column, hybrids
from hybridal.evidence.study_figures.drawn import Words
from hybridal.evidence.style import COLUMN, INK, new_figure, styled
from hybridal.study.folder import StudyFolder

_SHAPES = "os^Dvph"
_UNITS = {"steps": "optimiser steps", "seconds": "training seconds"}


def tuned_signals(results: Results) -> list[str]:
    """The signals for which the study has a grid: two ε or more, and three pairs or more."""
    found = comparable(results)
    if found is None:
        return []
    made = list(hybrids([str(spec) for spec in found.runs["schedule"].unique()]).values())
    names = dict.fromkeys(one.signal.name for one in made)
    grids = {name: {(one.epsilon, one.patience) for one in made if one.signal.name == name} for name in names}
    return [name for name, grid in grids.items() if len(grid) > 2 and len({epsilon for epsilon, _ in grid}) > 1]


def cross_sections(
    results: Results, _folder: StudyFolder, signal: str = "", cost: Cost = "steps", width: float = COLUMN
) -> Figure | None:
    """A signal's grid (the first one's where none is named): a panel a measure, ε along it, a line a k."""
    table = grid(results, signal, cost)
    if table is None:
        return None
    patiences = sorted(table["k"].unique())
    colours = {k: shades()(0.25 + 0.75 * at / max(len(patiences) - 1, 1)) for at, k in enumerate(patiences)}
    shapes = dict(zip(patiences, _SHAPES * len(patiences), strict=False))
    with styled():
        keys: list[Line2D] = [
            key(f"k = {k}", color=colours[k], marker=shapes[k], linestyle="-", linewidth=1.7) for k in patiences
        ]
        keys.append(key("chosen", **STAR_KEY))
        side = is_full(width)
        figure = new_figure((2.5 if side else 4.6) + legend_room(keys, width), width)
        panels = list(figure.subplots(1 if side else 3, 3 if side else 1, sharex=True, squeeze=False).flat)
        titles = {"f1": "Validation macro-F1", "nll": "Validation NLL", "cost": _UNITS[cost].capitalize()}
        chosen = table[table["chosen"]].iloc[0]
        for axes, (name, title) in zip(panels, titles.items(), strict=True):
            for k in patiences:
                own = table[table["k"] == k]
                axes.plot(own["epsilon"], own[name], color=colours[k], marker=shapes[k], markersize=4.5, label=f"{k}")
            star(axes, chosen["epsilon"], chosen[name], INK, size=14)
            axes.set_title(f"{signal_name(table.attrs['signal'])}: {title}")
        _scale(figure, sorted(table["epsilon"].unique()))
        thousands(panels[-1], "y")
        for axes in panels if side else panels[-1:]:
            axes.set_xlabel("ε")
        legend(figure, keys, width)
        return figure


def cross_words(results: Results, _folder: StudyFolder, signal: str = "", cost: Cost = "steps") -> Words:
    table = grid(results, signal, cost)
    assert table is not None
    name, chosen = signal_name(table.attrs["signal"]), table[table["chosen"]].iloc[0]
    spans = [
        f"{words} {table[column].min():{form}} to {table[column].max():{form}}"
        for column, words, form in (("f1", "F1", ".3f"), ("nll", "NLL", ".3f"), ("cost", _UNITS[cost], ",.0f"))
    ]
    reading = (
        "The star is the pair that the paper's rule chooses: among those within 0.5% of the best F1, the lowest sum of "
        "relative cost and half the relative NLL."
    )
    pair = f"ε = {threshold(chosen['epsilon'])}, k = {chosen['k']}"
    at = f"F1 {chosen['f1']:.3f}, NLL {chosen['nll']:.3f}, {chosen['cost']:,.0f} {_UNITS[cost]}"
    return Words(f"ε and k of {name}", reading, f"Over the grid: {', '.join(spans)}. Chosen: {pair} with {at}.")


def grid(results: Results, signal: str = "", cost: Cost = "steps") -> pd.DataFrame | None:
    """A row a pair: `epsilon`, `k`, mean validation `f1` and `nll`, mean `cost`, and whether it is `chosen`."""
    names = [name for name in tuned_signals(results) if signal in ("", name)]
    found = comparable(results)
    if found is None or not names:
        return None
    runs, column = found.runs, cost_column(found.runs, cost)
    if column is None or runs[["validation_f1", "validation_nll"]].isna().any(axis=None):
        return None
    made = hybrids([str(spec) for spec in runs["schedule"].unique()])
    rows = [
        (one.epsilon, one.patience, *(float(own[name].mean()) for name in ("validation_f1", "validation_nll", column)))
        for spec, one in made.items()
        if one.signal.name == names[0] and len(own := runs[runs["schedule"] == spec])
    ]
    table = pd.DataFrame(rows, columns=["epsilon", "k", "f1", "nll", "cost"]).sort_values(["k", "epsilon"])
    best = select([Setting((row[0], row[1]), *row[2:]) for row in rows]).chosen
    table["chosen"] = [(e, k) == best for e, k in zip(table["epsilon"], table["k"], strict=True)]
    table.attrs["signal"] = names[0]
    return table.reset_index(drop=True)


def _scale(figure: Figure, epsilons: list[float]) -> None:
    """ε as they were tried; logarithmic where they differ by much."""
    axes: Axes
    for axes in figure.axes:
        if epsilons[-1] / epsilons[0] > 8:
            axes.set_xscale("log")
            axes.xaxis.set_minor_locator(NullLocator())
        shown = epsilons[:: math.ceil(len(epsilons) / 5)]
        axes.xaxis.set_major_locator(FixedLocator(shown))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: change(value)))
        axes.yaxis.set_major_locator(MaxNLocator(nbins=5))
        axes.margins(y=0.12)
