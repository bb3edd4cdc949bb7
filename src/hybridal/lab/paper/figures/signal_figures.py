"""Are the signals correlated, and which one works best?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Rectangle

from hybridal.lab.reports.comparable import Comparable
from hybridal.lab.statistics.ranks import spearman
from hybridal.lab.study.study_results import FINETUNE, RETRAIN, rules
from hybridal.reports import figure_kit as kit
from hybridal.reports.display_names import distinct_markers, method_names, style_of
from hybridal.reports.figure_style import COLUMN, GRID, INK, MUTED, Drawn
from hybridal.reports.number_formats import NONE, counted, fixed, joined, plain
from hybridal.signals import signal_title

# Orange for negative, blue for positive, nearly white for no correlation: also distinct for colour-blind readers.
_COLOURS = LinearSegmentedColormap.from_list("rho", ["#b35806", "#f4b876", "#f6f6f6", "#8dbbe0", "#2166ac"])
_AXES = {"rate": "switch rate", "cost": "speed", "f1": "F1", "nll": "calibration", "rank": "overall\nrank"}
_LOWER_IS_BETTER = ("cost", "nll", "rank")
_REFERENCES = (RETRAIN, FINETUNE)


def correlation_matrix(found: Comparable) -> Drawn | None:
    """Draw the lower triangle of the Spearman correlations between the signals that all Retrain runs recorded."""
    table = _changes(found)
    if table is None:
        return None
    names, rho = [plain(signal_title(name)) for name in table.columns], spearman(table)
    count = len(names)
    with kit.drawing(0.5 + COLUMN * (0.3 + 0.55 * min(count, 9) / 9)) as figure:
        axes = figure.subplots()
        kit.hide_grid_and_frame(axes)
        for row in range(1, count):
            for column in range(row):
                value = rho[row][column]
                colour = GRID if value is None else _COLOURS((value + 1) / 2)
                axes.add_patch(Rectangle((column - 0.48, row - 0.46), 0.96, 0.92, facecolor=colour, linewidth=0))
                ink = INK if value is None else kit.ink_on(*colour[:3])
                axes.text(column, row, _rho(value), ha="center", va="center", fontsize=8, color=ink)
        axes.set(xlim=(-0.5, count - 1.5), ylim=(count - 0.5, 0.5))
        axes.set_yticks(range(1, count), names[1:])
        fits = 0.08 * max(map(len, names)) < (COLUMN - 0.7) / (count - 1)
        axes.set_xticks(range(count - 1), names[:-1], rotation=0 if fits else 35)
        axes.set_title(f"Spearman's ρ of {counted(len(table), 'round')} of Retrain")
    pairs = [(value, names[j], names[i]) for i, row in enumerate(rho) for j, value in enumerate(row[:i])]
    known = sorted((pair for pair in pairs if pair[0] is not None), key=lambda pair: -abs(pair[0] or 0))
    sentences = "; ".join(f"{one} and {other} {_rho(value)}" for value, one, other in known)
    reading = (
        "Signals with a ρ near 1 would decide alike, near 0 they see different things; every (run, round) of Retrain "
        "in which all signals have a change is one observation."
    )
    alt = f"Spearman's ρ, strongest first: {sentences}." if sentences else "No two signals vary."
    return Drawn(figure, "Which signals say the same", reading, alt)


def _changes(found: Comparable) -> pd.DataFrame | None:
    """Return Retrain's changes by round (rows) and signal (columns); None below three signals or two rounds."""
    own = found.rounds[found.rounds["schedule"] == RETRAIN]
    changes = own[[name for name in own.columns if name.startswith("change_")]].dropna(axis=1, how="all")
    full = changes.rename(columns=lambda name: str(name).removeprefix("change_")).dropna().astype(np.float64)
    return full if full.shape[0] > 1 and full.shape[1] > 2 else None


def _rho(value: float | None) -> str:
    """Format ρ with two digits and without a negative zero; the ρ of a constant signal is a dash."""
    return NONE if value is None else fixed(2)(round(value, 2) + 0.0)


def parallel_signals(found: Comparable) -> Drawn | None:
    """Draw parallel coordinates: one line per signal over five axes, best on top; Retrain and FineTune are dashed."""
    table = profile(found)
    if table is None:
        return None
    names, shapes = method_names(table.index, short=True), distinct_markers(table.index)
    keys = kit.method_keys(list(table.index), short=True)
    for key, spec in zip(keys, table.index, strict=True):
        if spec in _REFERENCES:
            key |= {"linestyle": kit.DASHED, "marker": ""}
    with kit.paneled(1, 2.8, keys) as (figure, (axes,)):
        for spec, row in _heights(table).iterrows():
            known, reference = row.dropna(), spec in _REFERENCES
            axes.plot(
                [list(_AXES).index(name) for name in known.index],
                known.to_numpy(float),
                color=style_of(str(spec)).light,
                marker="" if reference else shapes[str(spec)],
                linestyle=kit.DASHED if reference else "-",
                zorder=3 if reference else 2,  # a signal that never fires lies on Retrain
                markersize=5,
                label=str(spec),
            )
        _draw_axes(axes, table)
    ranked = table[["rank", "rate"]].dropna().sort_values("rank", kind="stable")
    sentences = [
        f"{names[spec]} (mean rank {rank:.1f}, switched in {rate:.0%} of runs)"
        for spec, (rank, rate) in zip(ranked.index.tolist(), ranked.to_numpy(float).tolist(), strict=True)
    ]
    reading = (
        "Up is better on every axis, and its ends are the best and the worst value; the overall rank is the mean of a "
        "signal's ranks on the other four."
    )
    return Drawn(figure, "Signals compared", reading, f"By overall rank, best first: {joined(sentences)}.")


def profile(found: Comparable) -> pd.DataFrame | None:
    """Return, per schedule, its switching `rate` and mean `cost`, `f1`, `nll` and `rank`; None below two signals."""
    split, column, signals = found.measured, found.cost("steps"), list(rules(found.methods(fixed=False)))
    if split is None or column is None or len(signals) < 2:
        return None
    groups = found.runs[found.runs["schedule"].isin([*_REFERENCES, *signals])].groupby("schedule", sort=False)
    columns = {"cost": column, "f1": f"{split}_f1", "nll": f"{split}_nll"}
    table = pd.DataFrame({name: groups[source].mean() for name, source in columns.items()})
    table["rate"] = (groups["t_star"].count() / groups.size()).where(table.index.isin(signals))
    better = table.assign(cost=-table["cost"], nll=-table["nll"]).loc[signals, ["rate", "cost", "f1", "nll"]]
    table["rank"] = better.rank(ascending=False).mean(axis=1)
    return table[list(_AXES)]


def _heights(table: pd.DataFrame) -> pd.DataFrame:
    """Scale each column from 0 (worst) to 1 (best); rates are shares already."""
    low, high = table.min(), table.max()
    heights = (table - low) / (high - low).replace(0, np.inf)
    for name in _LOWER_IS_BETTER:
        heights[name] = 1 - heights[name]
    return heights.assign(rate=table["rate"])


def _draw_axes(axes: Axes, table: pd.DataFrame) -> None:
    """Draw one vertical line per axis, with its best value above and its worst below."""
    shown = {"rate": ".0%", "cost": ",.0f", "rank": ".1f"}
    for at, name in enumerate(_AXES):
        axes.plot([at, at], [0, 1], color=MUTED, linewidth=0.8, zorder=1)
        ends = (0.0, 1.0) if name == "rate" else (table[name].min(), table[name].max())
        worst, best = ends[::-1] if name in _LOWER_IS_BETTER else ends
        for value, height, side in ((best, 1.04, "bottom"), (worst, -0.04, "top")):
            text = f"{value:{shown.get(name, '.3f')}}"
            axes.text(at, height, text, ha="center", va=side, fontsize=7.5, color=MUTED)
    axes.set(xlim=(-0.35, len(_AXES) - 0.65), ylim=(-0.13, 1.13))
    axes.set_xticks(range(len(_AXES)), list(_AXES.values()))
    axes.xaxis.tick_top()
    axes.tick_params(axis="x", pad=4)
    axes.set_yticks([])
    kit.hide_grid_and_frame(axes)
