"""When to switch? The NLL at the end of each schedule that switches, coloured by when it did."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from hybridal.evidence.formats import joined, score
from hybridal.evidence.looks import look
from hybridal.evidence.results import Results
from hybridal.evidence.study_figures._names import method_names
from hybridal.evidence.study_figures._parts import DASHDOT, DASHED, ink_on, shades
from hybridal.evidence.study_figures._tables import MOST_METHODS, comparable, measured_split
from hybridal.evidence.study_figures.drawn import Words
from hybridal.evidence.style import COLUMN, GRID, INK, SURFACE, new_figure, styled
from hybridal.study.folder import StudyFolder

_LINES = {"retrain": DASHED, "finetune": DASHDOT}


def switch_tradeoff(results: Results, _folder: StudyFolder, width: float = COLUMN) -> Figure | None:
    """A bar a switching schedule: mean NLL, coloured by the mean round that was the first to fine-tune."""
    table = switches(results)
    if table is None:
        return None
    bars = table.drop(index=[spec for spec in _LINES if spec in table.index])
    rounds = int(results.runs["rounds"].max())
    # matplotlib draws a scale of 50 colours and more as a picture.
    scale, steps = Normalize(1, rounds), shades().resampled(40)
    with styled():
        figure = new_figure(1.25 + 0.3 * len(bars), width)
        axes = figure.subplots()
        colours = [GRID if pd.isna(at) else shades()(scale(at)) for at in bars["switch"]]
        axes.barh(range(len(bars)), bars["nll"], height=0.7, color=colours)
        for row, (nll, at, share) in enumerate(bars[["nll", "switch", "switched"]].itertuples(index=False)):
            often = "" if share == 1 else f" ({share:.0%})"
            said = "never switched" if pd.isna(at) else f"{at:.1f}".removesuffix(".0") + often
            ink = INK if pd.isna(at) else ink_on(*colours[row][:3])
            axes.text(0.015 * axes.get_xlim()[1], row, said, va="center", color=ink, fontsize=8)
            end = axes.annotate(score(nll), (nll, row), (4, 0), textcoords="offset points", va="center", fontsize=8)
            end.set_bbox({"facecolor": SURFACE, "edgecolor": "none", "pad": 0.8})
        _references(axes, table["nll"])
        axes.set_yticks(range(len(bars)), list(method_names(bars.index).values()))
        axes.set_ylim(len(bars) - 0.5, -0.6)
        axes.set_xlim(0, 1.1 * table["nll"].max())
        axes.grid(axis="y", visible=False)
        axes.set_xlabel(f"mean {measured_split(results.runs)} NLL")
        legend = figure.colorbar(ScalarMappable(scale, steps), ax=axes, aspect=18, pad=0.02)
        legend.set_label("first round that fine-tuned, mean")
        legend.outline.set_visible(False)
        return figure


def _references(axes: Axes, nll: pd.Series[float]) -> None:
    """The two pure schedules as lines; their names give way to each other where they are close."""
    lines = nll[[spec for spec in nll.index if spec in _LINES]]
    close = len(lines) == 2 and lines.iloc[1] - lines.iloc[0] < 0.25 * nll.max()
    for spec, at, side in zip(map(str, lines.index), lines, ("right", "left"), strict=False):
        colour = look(spec).light
        axes.axvline(at, color=colour, linestyle=_LINES[spec], linewidth=1.5)
        axes.annotate(
            method_names([spec])[spec],
            (at, 1),
            (0, 2),
            axes.get_xaxis_transform(),
            "offset points",
            ha=side if close else "center",
            fontsize=8,
            color=colour,
        )


def switch_words(results: Results, _folder: StudyFolder) -> Words:
    table = switches(results)
    assert table is not None
    names = method_names(table.index)
    said = [
        f"{names[str(spec)]} {score(nll)}" + ("" if pd.isna(at) or spec in _LINES else f" (from round {at:.1f})")
        for spec, nll, at in table[["nll", "switch"]].itertuples()
    ]
    reading = (
        "Shorter bars are better calibrated; numbers in the bars and their colour say which round, on average over the "
        "runs that switched (their share in brackets), was the first to fine-tune."
    )
    return Words("When to switch", reading, f"Mean {measured_split(results.runs)} NLL: {joined(said)}.")


def switches(results: Results) -> pd.DataFrame | None:
    """A row a schedule, by NLL: `nll`, the mean first round that fine-tuned as `switch`, the share that `switched`."""
    found = comparable(results)
    if found is None or (split := measured_split(found.runs)) is None:
        return None
    kinds = found.runs["schedule"].str.partition(":")[0]
    runs = found.runs[kinds.isin(["retrain", "finetune", "fixed", "hybrid"])]
    groups = runs.groupby("schedule", sort=False)
    table = pd.DataFrame(
        {
            "nll": groups[f"{split}_nll"].mean(),
            "switch": groups["first_finetune"].mean(),
            "switched": groups["first_finetune"].count() / groups.size(),
        }
    ).sort_values("nll", kind="stable")
    bars = len(table.index.difference(list(_LINES)))
    return table if 2 <= bars <= MOST_METHODS else None
