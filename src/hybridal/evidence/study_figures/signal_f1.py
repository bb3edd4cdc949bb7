"""Does it matter which signal decides? Mean validation F1 by round, every task with the same weight."""

from __future__ import annotations

from matplotlib.figure import Figure

from hybridal.evidence.formats import counted, joined, score
from hybridal.evidence.results import Results
from hybridal.evidence.study_figures._curves import draw_curves, mean_curves, zoom
from hybridal.evidence.study_figures._names import method_names
from hybridal.evidence.study_figures._parts import STAR_KEY, key, legend, legend_room, method_keys, paneled
from hybridal.evidence.study_figures._tables import comparable, hybrids, methods
from hybridal.evidence.study_figures.drawn import Words
from hybridal.evidence.style import COLUMN, styled, whole_rounds
from hybridal.study.folder import StudyFolder

# With two signals the trajectories say it all.
_SIGNALS = 3


def signal_f1(results: Results, _folder: StudyFolder, width: float = COLUMN) -> Figure | None:
    """One line a signal beside Retrain and FineTune, a star at its mean t*; None below three signals."""
    found = _found(results)
    if found is None:
        return None
    specs = methods(found.runs, fixed=False)
    with styled():
        keys = method_keys(specs, short=True)
        if found.runs["t_star"].notna().any():
            keys.append(key("mean t*", **STAR_KEY))
        figure, (axes,) = paneled(1, width, 2.9, legend_room(keys, width))
        curves = mean_curves(found, "validation_f1", specs, by_task=True)
        draw_curves(axes, curves)
        whole_rounds(axes, int(found.runs["rounds"].max()))
        axes.set_title(f"Validation macro-F1, mean of {counted(found.runs['task'].nunique(), 'task')}")
        zoom(axes, curves, "lower")
        legend(figure, keys, width)
        return figure


def signal_f1_words(results: Results, _folder: StudyFolder) -> Words:
    found = _found(results)
    assert found is not None
    specs = methods(found.runs, fixed=False)
    names = method_names(specs, short=True)
    curves = mean_curves(found, "validation_f1", specs, by_task=True)
    ends = [
        f"{names[spec]} {score(float(curve.mean[-1]))}"
        + ("" if curve.t_star is None else f" (mean t* {curve.t_star:.1f})")
        for spec, curve in curves.items()
    ]
    return Words(
        "Signals and F1",
        "Mean validation macro-F1, every task with the same weight, higher is better; stars stand at the mean t*.",
        f"Mean validation macro-F1 in the last round: {joined(ends)}.",
    )


def _found(results: Results) -> Results | None:
    found = comparable(results)
    if found is None or found.rounds["validation_f1"].isna().any():
        return None
    signals = {schedule.signal.name for schedule in hybrids(methods(found.runs, fixed=False)).values()}
    return found if len(signals) >= _SIGNALS else None
