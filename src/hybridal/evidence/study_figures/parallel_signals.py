"""Which signal serves best? Each one across five axes: switch rate, speed, F1, calibration and overall rank."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hybridal.evidence.formats import joined
from hybridal.evidence.looks import distinct_markers, look
from hybridal.evidence.results import Results
from hybridal.evidence.study_figures._names import method_names
from hybridal.evidence.study_figures._parts import DASHED, legend, legend_room, method_keys, paneled
from hybridal.evidence.study_figures._tables import Cost, comparable, cost_column, hybrids, measured_split, methods
from hybridal.evidence.study_figures.drawn import Words
from hybridal.evidence.style import COLUMN, MUTED, styled
from hybridal.study.folder import StudyFolder

Axis = Literal["rate", "cost", "f1", "nll", "rank"]

_TITLES = {"rate": "switch rate", "cost": "speed", "f1": "F1", "nll": "calibration", "rank": "overall\nrank"}
_LOWER_IS_BETTER = ("cost", "nll", "rank")
_REFERENCES = ("retrain", "finetune")


def parallel_signals(
    results: Results, _folder: StudyFolder, cost: Cost = "steps", width: float = COLUMN
) -> Figure | None:
    """A line a signal through five axes, the best on top; Retrain and FineTune, dashed, have no rate and no rank."""
    table = profile(results, cost)
    if table is None:
        return None
    with styled():
        keys = method_keys(list(table.index), short=True)
        for entry, spec in zip(keys, table.index, strict=True):
            if spec in _REFERENCES:
                entry.set(linestyle=DASHED, marker="")
        figure, (axes,) = paneled(1, width, 2.8, legend_room(keys, width))
        heights = normalised(table)
        shapes = distinct_markers(table.index)
        for spec, row in heights.iterrows():
            known = row.dropna()
            at = [list(_TITLES).index(name) for name in known.index]
            reference = spec in _REFERENCES
            axes.plot(
                at,
                known.to_numpy(float),
                color=look(str(spec)).light,
                marker="" if reference else shapes[str(spec)],
                linestyle=DASHED if reference else "-",
                zorder=3 if reference else 2,  # a signal that never fires lies on Retrain
                markersize=5,
                label=str(spec),
            )
        _axes(axes, table)
        legend(figure, keys, width)
        return figure


def parallel_words(results: Results, _folder: StudyFolder, cost: Cost = "steps") -> Words:
    table = profile(results, cost)
    assert table is not None
    names = method_names(table.index, short=True)
    ranked = table[["rank", "rate"]].dropna().sort_values("rank", kind="stable")
    said = [
        f"{names[spec]} (mean rank {rank:.1f}, switched in {rate:.0%} of runs)"
        for spec, (rank, rate) in zip(ranked.index.tolist(), ranked.to_numpy(float).tolist(), strict=True)
    ]
    reading = (
        "Up is better on every axis, and its ends are the best and the worst value; the overall rank is the mean of a "
        "signal's ranks on the other four."
    )
    return Words("Signals compared", reading, f"By overall rank, best first: {joined(said)}.")


def profile(results: Results, cost: Cost = "steps") -> pd.DataFrame | None:
    """A row a schedule with its mean `rate` of switching, `cost`, `f1`, `nll` and `rank`; None below two signals."""
    found = comparable(results)
    if found is None:
        return None
    runs = found.runs
    split, column = measured_split(runs), cost_column(runs, cost)
    signals = list(hybrids(methods(runs, fixed=False)))
    if split is None or column is None or len(signals) < 2:
        return None
    groups = runs[runs["schedule"].isin([*_REFERENCES, *signals])].groupby("schedule", sort=False)
    columns = {"cost": column, "f1": f"{split}_f1", "nll": f"{split}_nll"}
    table = pd.DataFrame({name: groups[source].mean() for name, source in columns.items()})
    table["rate"] = (groups["t_star"].count() / groups.size()).where(table.index.isin(signals))
    better = table.assign(cost=-table["cost"], nll=-table["nll"]).loc[signals, ["rate", "cost", "f1", "nll"]]
    table["rank"] = better.rank(ascending=False).mean(axis=1)
    return table[list(_TITLES)]


def normalised(table: pd.DataFrame) -> pd.DataFrame:
    """From 0 for the worst to 1 for the best of a column; rates are shares already."""
    low, high = table.min(), table.max()
    heights = (table - low) / (high - low).replace(0, np.inf)
    for name in _LOWER_IS_BETTER:
        heights[name] = 1 - heights[name]
    return heights.assign(rate=table["rate"])


def _axes(axes: Axes, table: pd.DataFrame) -> None:
    """An upright line an axis, with its best value above and its worst below."""
    for at, name in enumerate(_TITLES):
        axes.plot([at, at], [0, 1], color=MUTED, linewidth=0.8, zorder=1)
        ends = (0.0, 1.0) if name == "rate" else (table[name].min(), table[name].max())
        worst, best = ends[::-1] if name in _LOWER_IS_BETTER else ends
        for value, height, side in ((best, 1.04, "bottom"), (worst, -0.04, "top")):
            axes.text(at, height, _said(name, value), ha="center", va=side, fontsize=7.5, color=MUTED)
    axes.set(xlim=(-0.35, len(_TITLES) - 0.65), ylim=(-0.13, 1.13))
    axes.set_xticks(range(len(_TITLES)), list(_TITLES.values()))
    axes.xaxis.tick_top()
    axes.tick_params(axis="x", pad=4)
    axes.set_yticks([])
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _said(name: str, value: float) -> str:
    if name == "rate":
        return f"{value:.0%}"
    return f"{value:,.0f}" if name == "cost" else f"{value:.1f}" if name == "rank" else f"{value:.3f}"
