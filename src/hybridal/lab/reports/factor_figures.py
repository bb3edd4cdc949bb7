"""Learning curves and cost for each factor that a study varies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from matplotlib.axes import Axes

from hybridal.lab.reports.comparable import MAX_METHODS, SEEDS_FOR_A_BAND
from hybridal.lab.reports.factors import COMPARED, balanced, level_names, level_styles, varied_factors
from hybridal.lab.study.study_results import Results
from hybridal.reports import figure_kit as kit
from hybridal.reports.display_names import Style, distinct_markers, task_names
from hybridal.reports.figure_style import Drawn
from hybridal.reports.number_formats import counted, joined, plain, score

if TYPE_CHECKING:
    import pandas as pd

Measure = Literal["f1", "nll"]
_MEASURES = {"f1": ("macro-F1", "higher"), "nll": ("NLL", "lower")}
# With more tasks a panel for each would not be readable; their mean is drawn instead.
MAX_PANELS = 6
# More bands than this overlap to one grey area.
MAX_BANDS = 6


def factor_figures(results: Results) -> Iterator[tuple[str, Drawn | None]]:
    """Yield the figures of each varied factor by name; of a study that varies nothing, those of its schedule."""
    for factor in varied_factors(results.runs) or ["schedule"]:
        fair = balanced(results, factor)
        if fair is None or fair.runs[factor].nunique() > MAX_METHODS:
            continue
        yield f"f1-by-{factor}", learning_curves(fair, factor, "f1")
        yield f"nll-by-{factor}", learning_curves(fair, factor, "nll")
        yield f"cost-by-{factor}", cost_against_quality(fair, factor)


def learning_curves(results: Results, factor: str, measure: Measure) -> Drawn | None:
    """Draw the mean of a measure by number of labels, one line per level, one panel per task."""
    split = _measured_split(results.rounds, measure)
    if split is None:
        return None
    column, (called, better) = f"{split}_{measure}", _MEASURES[measure]
    names, styles, markers = _appearance(results, factor)
    tasks = task_names(results.rounds["task"].unique())
    panels = {name: results.rounds[results.rounds["task"] == task] for task, name in tasks.items()}
    if len(panels) > MAX_PANELS:
        panels = {f"Mean of {len(panels)} tasks": results.rounds}
    banded = results.runs["seed"].nunique() >= SEEDS_FOR_A_BAND and len(names) <= MAX_BANDS
    spoken = []
    with kit.paneled(len(panels), 2.2, _keys(names, styles, markers)) as (figure, axes_of):
        for axes, (title, rounds) in zip(axes_of, panels.items(), strict=True):
            ends = _draw_curves(axes, rounds, factor, column, styles, markers, banded)
            axes.set_title(plain(title, 40))
            spoken.append(f"{title}: {joined([f'{names[level]} {score(end)}' for level, end in ends.items()])}.")
        kit.label_outside(axes_of, "labels", f"{split} {called}")
    runs = counted(len(results.runs) // len(names), "run")
    band = " with ±1 standard error" if banded else ""
    reading = f"Mean {split} {called} of {runs} a level{band}, {better} is better."
    heading = f"{called[:1].upper()}{called[1:]} by {COMPARED[factor].lower()}"
    return Drawn(figure, heading, reading, f"{split.capitalize()} {called} in the last round. {' '.join(spoken)}")


def _draw_curves(
    axes: Axes,
    rounds: pd.DataFrame,
    factor: str,
    column: str,
    styles: Mapping[str, Style],
    markers: Mapping[str, str],
    banded: bool,
) -> dict[str, float]:
    """Draw one line per level and return where each ends."""
    widths, ends = kit.widths(list(styles)), {}
    for level, style in styles.items():
        by_round = rounds[rounds[factor] == level].groupby("round")
        labels, mean = by_round["labels"].mean(), by_round[column].mean()
        if banded:
            error = by_round[column].sem()
            axes.fill_between(labels, mean - error, mean + error, color=style.light, alpha=0.16, linewidth=0)
        axes.plot(
            labels,
            mean,
            color=style.light,
            linewidth=widths[level] - 0.3,
            marker=markers[level],
            markersize=4.5,
            markevery=max(len(mean) // 5, 1),
            label=level,
        )
        ends[level] = float(mean.iloc[-1])
    kit.thousands(axes)
    return ends


def cost_against_quality(results: Results, factor: str) -> Drawn | None:
    """Draw the mean optimiser steps of a run against its final macro-F1, one point per level."""
    column = f"{results.split}_f1"
    if results.runs[column].isna().any():
        return None
    names, styles, markers = _appearance(results, factor)
    by_level = results.runs.groupby(factor, sort=False)
    steps, f1 = by_level["steps"].mean().to_dict(), by_level[column].mean().to_dict()
    spoken = []
    with kit.paneled(1, 2.8, _keys(names, styles, markers)) as (figure, (axes,)):
        for level, style in styles.items():
            kit.mark(axes, steps[level], f1[level], markers[level], 8, style.light, level)
            spoken.append(f"{names[level]} {score(f1[level])} for {steps[level]:,.0f} steps")
        axes.set(xlabel="optimiser steps of a run", ylabel=f"{results.split} macro-F1")
        kit.thousands(axes)
        axes.margins(0.1)
    reading = "Mean over all tasks and seeds; upper left is better: less training and more often right."
    return Drawn(figure, f"Cost by {COMPARED[factor].lower()}", reading, f"Macro-F1 and cost: {joined(spoken)}.")


def _measured_split(rounds: pd.DataFrame, measure: Measure) -> str | None:
    """The split that was measured in every round: test if possible, else validation."""
    complete = [split for split in ("test", "validation") if rounds[f"{split}_{measure}"].notna().all()]
    return complete[0] if complete else None


def _appearance(results: Results, factor: str) -> tuple[dict[str, str], dict[str, Style], dict[str, str]]:
    """Names, styles and markers of the levels."""
    names = {level: plain(name, 34) for level, name in level_names(results.runs, factor).items()}
    styles = level_styles(list(names), factor)
    schedules = factor == "schedule"
    markers = distinct_markers(names) if schedules else {level: style.marker for level, style in styles.items()}
    return names, styles, markers


def _keys(names: Mapping[str, str], styles: Mapping[str, Style], markers: Mapping[str, str]) -> Sequence[kit.Key]:
    return [
        {"color": style.light, "linewidth": 2, "marker": markers[level], "label": names[level]}
        for level, style in styles.items()
    ]
