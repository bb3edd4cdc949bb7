"""The figures of the paper, and regret: each a function of a study's results that is None where it has no data for it.

| file | question |
|---|---|
| `overview` | is one schedule best at everything, is F1 kept, and what does calibration cost? |
| `rounds` | how do F1 and NLL go, round by round, and does it matter which signal decides? |
| `switching` | when to switch, and how far is each signal from the best switch round? |
| `decisions` | how does a signal decide, and what does patience filter out? |
| `signals` | do signals say the same, and which serves best? |
| `choices` | which ε and k, and does a choice of the protocol matter? |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from hybridal.evidence.results import Results
from hybridal.evidence.study_report import MakeFigure


def figures(found: Results) -> Iterator[tuple[str, MakeFigure]]:
    """Every figure by its name, in the order of the paper; matplotlib is loaded here."""
    from hybridal.evidence.comparable import comparable
    from hybridal.evidence.results import rules
    from hybridal.paper.figures.choices import cross_sections, sensitivity, tuned_signals
    from hybridal.paper.figures.decisions import control_charts, stretches
    from hybridal.paper.figures.overview import pareto_plane, radar, violins
    from hybridal.paper.figures.rounds import signal_f1, trajectories
    from hybridal.paper.figures.signals import correlation_matrix, parallel_signals
    from hybridal.paper.figures.switching import regret_by_signal, switch_tradeoff

    yield "radar", radar
    yield "f1-violins", violins
    yield "f1-by-round", trajectories
    yield "pareto-steps", pareto_plane
    yield "pareto-seconds", partial(pareto_plane, cost="seconds")
    yield "pareto-f1", partial(pareto_plane, measure="f1")
    yield "nll-by-round", partial(trajectories, measure="nll")
    yield "switch-tradeoff", switch_tradeoff
    yield "regret", regret_by_signal
    ready = comparable(found)
    watching = rules(ready.methods(fixed=False)) if ready else {}
    for spec, name in zip(watching, _slugs([rule.signal.name for rule in watching.values()]), strict=True):
        yield f"control-{name}", partial(control_charts, spec=spec)
    yield "stretches", stretches
    yield "signal-correlation", correlation_matrix
    yield "signal-profiles", parallel_signals
    yield "signal-f1", signal_f1
    tuned = tuned_signals(found)
    for signal, name in zip(tuned, _slugs(tuned), strict=True):
        yield f"tuning-{name}", partial(cross_sections, signal=signal)
    yield "sensitivity", sensitivity


def _slugs(names: Sequence[str]) -> list[str]:
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
