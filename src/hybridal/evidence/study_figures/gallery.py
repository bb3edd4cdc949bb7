"""Every figure that a study has the data for, in the order of the paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hybridal.evidence.results import Results, results
from hybridal.evidence.study_figures.drawn import Drawn, Words
from hybridal.study.folder import StudyFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[..., "Figure | None"]
Say = Callable[[Results, StudyFolder], Words]


def all_figures(folder: StudyFolder, width: float | None = None) -> dict[str, Drawn]:
    """The figures of a study by name, with their words; those that it has no data for are left out.

    `width` is in inches, a column's where none is given; from one and a half columns on, panels stand side by side.

    >>> from pathlib import Path
    >>> from hybridal.study.study import Study
    >>> all_figures(StudyFolder(Path("nowhere"), Study("empty", ("trec",), ("retrain",))))
    {}
    """
    found = results(folder)
    if found.runs.empty:
        return {}
    options = {} if width is None else {"width": width}
    gallery = {}
    for name, draw, say in _catalogue(found):
        figure = draw(found, folder, **options)
        if figure is not None:
            gallery[name] = Drawn(figure, *say(found, folder))
    return gallery


def _catalogue(found: Results) -> Iterator[tuple[str, Draw, Say]]:
    from hybridal.evidence.study_figures._tables import comparable, hybrids, methods
    from hybridal.evidence.study_figures.control_charts import control_charts, control_words
    from hybridal.evidence.study_figures.correlation_matrix import correlation_matrix, correlation_words
    from hybridal.evidence.study_figures.cross_sections import cross_sections, cross_words, tuned_signals
    from hybridal.evidence.study_figures.parallel_signals import parallel_signals, parallel_words
    from hybridal.evidence.study_figures.pareto_plane import pareto_plane, pareto_words
    from hybridal.evidence.study_figures.radar import radar, radar_words
    from hybridal.evidence.study_figures.regret_by_signal import regret_by_signal, regret_words
    from hybridal.evidence.study_figures.sensitivity import sensitivity, sensitivity_words
    from hybridal.evidence.study_figures.signal_f1 import signal_f1, signal_f1_words
    from hybridal.evidence.study_figures.stretches import stretch_words, stretches
    from hybridal.evidence.study_figures.switch_tradeoff import switch_tradeoff, switch_words
    from hybridal.evidence.study_figures.trajectories import trajectories, trajectory_words
    from hybridal.evidence.study_figures.violins import violin_words, violins

    yield "radar", radar, radar_words
    yield "f1-violins", violins, violin_words
    yield "f1-by-round", trajectories, trajectory_words
    yield "pareto-steps", pareto_plane, pareto_words
    yield "pareto-seconds", partial(pareto_plane, cost="seconds"), partial(pareto_words, cost="seconds")
    yield "nll-by-round", partial(trajectories, measure="nll"), partial(trajectory_words, measure="nll")
    yield "switch-tradeoff", switch_tradeoff, switch_words
    yield "regret", regret_by_signal, regret_words
    ready = comparable(found)
    watching = hybrids(methods(ready.runs, fixed=False)) if ready else {}
    for spec, name in zip(watching, _slugs([one.signal.name for one in watching.values()]), strict=True):
        yield f"control-{name}", partial(control_charts, spec=spec), partial(control_words, spec=spec)
    yield "stretches", stretches, stretch_words
    yield "signal-correlation", correlation_matrix, correlation_words
    yield "signal-profiles", parallel_signals, parallel_words
    yield "signal-f1", signal_f1, signal_f1_words
    tuned = tuned_signals(found)
    for signal, name in zip(tuned, _slugs(tuned), strict=True):
        yield f"tuning-{name}", partial(cross_sections, signal=signal), partial(cross_words, signal=signal)
    yield "sensitivity", sensitivity, sensitivity_words


def _slugs(names: Sequence[str]) -> list[str]:
    """File names, each different.

    >>> _slugs(["accuracy", "their/own", "accuracy"])
    ['accuracy', 'their-own', 'accuracy-2']
    """
    found: list[str] = []
    for name in names:
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "signal"
        twin = 2
        fresh = slug
        while fresh in found:
            fresh, twin = f"{slug}-{twin}", twin + 1
        found.append(fresh)
    return found
