"""The figures of the paper, and regret: each a function of a study's results that is None where it has no data for it.

| file | question |
|---|---|
| `overview_figures` | is one schedule best at everything, is F1 kept, and what does calibration cost? |
| `curve_figures` | how do F1 and NLL develop round by round, and does the choice of the signal matter? |
| `switching_figures` | when to switch? How far is each signal from the best switch round? |
| `decision_figures` | how does a signal decide, and what does patience filter out? |
| `signal_figures` | are the signals correlated, and which one works best? |
| `choice_figures` | which ε and k are best, and do protocol settings matter? |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from hybridal.lab.reports.comparable import Comparable, comparable
from hybridal.lab.study.study_results import Results, rules
from hybridal.reports.display_names import acquisition_name

if TYPE_CHECKING:
    import pandas as pd

    from hybridal.reports.figure_style import Drawn


def figures(found: Results) -> Iterator[tuple[str, Drawn | None]]:
    """Yield every figure by its name, in the order of the paper; matplotlib is loaded here.

    If a study varies the acquisition, a figure that cannot combine them is drawn once for each acquisition.
    """
    together = set()
    for name, drawn in _figures(found):
        if drawn is not None:
            together.add(name)
            yield name, drawn
    acquisitions = [str(spec) for spec in found.runs["acquisition"].unique()]
    for spec in acquisitions if len(acquisitions) > 1 else ():
        part = replace(found, runs=_acquired_by(found.runs, spec), rounds=_acquired_by(found.rounds, spec))
        for name, drawn in _figures(part):
            if drawn is not None and name not in together:
                heading = f"{drawn.heading}, {acquisition_name(spec)}"
                yield f"{name}-{spec.replace(':', '-')}", replace(drawn, heading=heading)


def _acquired_by(rows: pd.DataFrame, spec: str) -> pd.DataFrame:
    return rows[rows["acquisition"] == spec]


def _figures(found: Results) -> Iterator[tuple[str, Drawn | None]]:
    from hybridal.lab.paper.figures.choice_figures import sensitivity

    ready = comparable(found)
    if ready is not None:
        yield from _of_comparable(ready)
    yield "sensitivity", sensitivity(found)


def _of_comparable(found: Comparable) -> Iterator[tuple[str, Drawn | None]]:
    from hybridal.lab.paper.figures.choice_figures import cross_sections, tuned_signals
    from hybridal.lab.paper.figures.curve_figures import signal_f1, trajectories
    from hybridal.lab.paper.figures.decision_figures import control_charts, streaks
    from hybridal.lab.paper.figures.overview_figures import pareto_plane, radar, violins
    from hybridal.lab.paper.figures.signal_figures import correlation_matrix, parallel_signals
    from hybridal.lab.paper.figures.switching_figures import regret_by_signal, switch_tradeoff

    yield "radar", radar(found)
    yield "f1-violins", violins(found)
    yield "f1-by-round", trajectories(found)
    yield "pareto-steps", pareto_plane(found)
    yield "pareto-seconds", pareto_plane(found, "seconds")
    yield "pareto-f1", pareto_plane(found, measure="f1")
    yield "nll-by-round", trajectories(found, "nll")
    yield "switch-tradeoff", switch_tradeoff(found)
    yield "regret", regret_by_signal(found)
    watching = rules(found.methods(fixed=False))
    for name, (spec, rule) in zip(
        _slugs(rule.signal.name for rule in watching.values()), watching.items(), strict=True
    ):
        yield f"control-{name}", control_charts(found, spec, rule)
    yield "streaks", streaks(found)
    yield "signal-correlation", correlation_matrix(found)
    yield "signal-profiles", parallel_signals(found)
    yield "signal-f1", signal_f1(found)
    tuned = tuned_signals(found)
    for name, (signal, table) in zip(_slugs(tuned), tuned.items(), strict=True):
        yield f"tuning-{name}", cross_sections(found, signal, table)


def _slugs(names: Iterable[str]) -> list[str]:
    """File names, each different.

    >>> _slugs(["accuracy", "their/own", "accuracy"])
    ['accuracy', 'their-own', 'accuracy-2']
    """
    found: list[str] = []
    for name in names:
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "signal"
        fresh, twin = slug, 2
        while fresh in found:
            fresh, twin = f"{slug}-{twin}", twin + 1
        found.append(fresh)
    return found
