"""The figures in words, for those who do not see them: the same facts, from first to last."""

from __future__ import annotations

from collections.abc import Mapping

from hybridal.evidence.formats import change, count, counted, duration, rounds_between, score, threshold
from hybridal.evidence.looks import distinct_names, schedule_name
from hybridal.evidence.summary import Histories, changes, stretches, total_cost, total_seconds
from hybridal.measures.stabilisation import Stabilisation


def strategy_alt(histories: Histories) -> str:
    """Who used which update when."""
    names = distinct_names(histories)
    runs = (
        f"{names[spec]}: "
        + ", ".join(f"{schedule_name(p.update)} in {rounds_between(p.first, p.last)}" for p in stretches(history))
        for spec, history in histories.items()
    )
    return f"Update of each round. {'; '.join(runs)}."


def measure_alt(histories: Histories, name: str, called: str) -> str:
    """Where a validation measure started and ended."""
    names, parts = distinct_names(histories), []
    for spec, history in histories.items():
        known = [(fact.round, getattr(fact.validation, name)) for fact in history if fact.validation is not None]
        if known:
            (first, start), (last, end) = known[0], known[-1]
            parts.append(f"{names[spec]} from {score(start)} in round {first} to {score(end)} in round {last}")
    return f"Validation {called}: {'; '.join(parts)}. " if parts else ""


def signal_alt(histories: Histories, signal: str, detectors: Mapping[str, Stabilisation]) -> str:
    """How far a signal moved and when it settled."""
    names, parts = distinct_names(histories), []
    for spec, history in histories.items():
        found = changes(history, signal)
        known = [value for value in found if value is not None]
        part = (
            f"{names[spec]} between {change(min(known))} and {change(max(known))}" if known else f"{names[spec]} none"
        )
        if spec in detectors:
            settled = detectors[spec].t_star(found)
            part += f", ε {threshold(detectors[spec].epsilon)}, "
            part += "not settled" if settled is None else f"settled in round {settled}"
        parts.append(part)
    return f"Change of the signal {signal} per round: {'; '.join(parts)}."


def cost_alt(histories: Histories) -> str:
    """All steps."""
    names = distinct_names(histories)
    totals = (f"{names[spec]} {count(total_cost(history).steps)}" for spec, history in histories.items())
    return f"Optimiser steps, summed over rounds: {'; '.join(totals)} at the end."


def seconds_alt(histories: Histories) -> str:
    """All seconds."""
    names = distinct_names(histories)
    totals = (
        f"{names[spec]} {duration(sum(total_seconds(history).values()))} in {counted(len(history), 'round')}"
        for spec, history in histories.items()
    )
    return f"Seconds per phase, stacked: {'; '.join(totals)}."
