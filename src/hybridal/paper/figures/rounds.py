"""How do F1 and NLL go, round by round, and does it matter which signal decides?"""

from __future__ import annotations

from typing import Literal

from hybridal.evidence import figure_kit as kit
from hybridal.evidence.formats import counted, joined, score
from hybridal.evidence.names import method_names
from hybridal.evidence.results import Results
from hybridal.evidence.select import by_family, comparable, hybrids, methods
from hybridal.evidence.style import COLUMN, styled, whole_rounds
from hybridal.evidence.svg import Drawn

Measure = Literal["f1", "nll"]

# What a measure is called, which way is better, the heading, and the corner of the zoom.
_MEASURES = {
    "f1": ("validation macro-F1", "higher", "How F1 grows", "lower"),
    "nll": ("validation NLL", "lower", "How calibration develops", "upper"),
}
# With two signals the trajectories say it all.
_SIGNALS = 3


def trajectories(results: Results, measure: Measure = "f1", width: float = COLUMN) -> Drawn | None:
    """Means over runs by round, ±1 SEM, a star at each schedule's mean t*, and an inset of the last rounds.

    Fixed switches are left out: their curves are FineTune's or Retrain's before and after the switch.
    """
    found = comparable(results)
    specs = [] if found is None else methods(found.runs, fixed=False)
    column = f"validation_{measure}"
    if found is None or not specs or found.rounds[column].isna().any():
        return None
    called, better, heading, corner = _MEASURES[measure]
    names, said, band = method_names(specs), [], ""
    parts = {family: (part, kit.mean_curves(part, column, specs)) for family, part in by_family(found)}
    with styled():
        keys = kit.method_keys(specs)
        if found.runs["t_star"].notna().any():
            keys.append(kit.key("mean t*", **kit.STAR_KEY))
        figure, panels = kit.paneled(len(parts), width, 2.35, kit.legend_room(keys, width))
        for axes, (family, (part, curves)) in zip(panels, parts.items(), strict=True):
            kit.draw_curves(axes, curves)
            whole_rounds(axes, int(part.runs["rounds"].max()))
            axes.set_title(f"{family}: {called}")
            kit.zoom(axes, curves, corner)
            ends = [f"{names[spec]} {score(float(curve.mean[-1]))}" for spec, curve in curves.items()]
            said.append(f"{family}, {called} in the last round: {joined(ends)}.")
            band = " with ±1 standard error" if any(curve.sem is not None for curve in curves.values()) else ""
        kit.label_outside(panels, width, "round")
        kit.legend(figure, keys, width)
    runs = counted(len(found.runs) // found.runs["schedule"].nunique(), "run")
    reading = f"Mean {called} of {runs} a schedule{band}, {better} is better; stars stand at the mean t*."
    return Drawn(figure, heading, reading, " ".join(said))


def signal_f1(results: Results, width: float = COLUMN) -> Drawn | None:
    """One line a signal beside Retrain and FineTune, every task with the same weight; None below three signals."""
    found = comparable(results)
    specs = [] if found is None else methods(found.runs, fixed=False)
    signals = {schedule.signal for schedule in hybrids(specs).values()}
    if found is None or found.rounds["validation_f1"].isna().any() or len(signals) < _SIGNALS:
        return None
    names, curves = method_names(specs, short=True), kit.mean_curves(found, "validation_f1", specs, by_task=True)
    with styled():
        keys = kit.method_keys(specs, short=True)
        if found.runs["t_star"].notna().any():
            keys.append(kit.key("mean t*", **kit.STAR_KEY))
        figure, (axes,) = kit.paneled(1, width, 2.9, kit.legend_room(keys, width))
        kit.draw_curves(axes, curves)
        whole_rounds(axes, int(found.runs["rounds"].max()))
        axes.set_title(f"Validation macro-F1, mean of {counted(found.runs['task'].nunique(), 'task')}")
        kit.zoom(axes, curves, "lower")
        kit.legend(figure, keys, width)
    ends = [
        f"{names[spec]} {score(float(curve.mean[-1]))}"
        + ("" if curve.t_star is None else f" (mean t* {curve.t_star:.1f})")
        for spec, curve in curves.items()
    ]
    reading = "Mean validation macro-F1, every task with the same weight, higher is better; stars stand at the mean t*."
    return Drawn(figure, "Signals and F1", reading, f"Mean validation macro-F1 in the last round: {joined(ends)}.")
