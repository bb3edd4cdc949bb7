"""The end of a run, for people or for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from hybridal.facts import Round
from hybridal.files import strict_json
from hybridal.record import RunFolder
from hybridal.schedules import Schedule, make_schedule
from hybridal.schedules.hybrid import HybridAL
from hybridal.stopping import advise


def print_result(folder: RunFolder, json: bool, quiet: bool) -> None:
    """Writes the report and says what came out."""
    from hybridal.evidence.run_report import write_report

    report = write_report(folder)
    history = folder.history()
    schedule = make_schedule(folder.settings().schedule)
    if json:
        typer.echo(strict_json(result(folder, schedule, history)))
    elif not quiet:
        typer.echo(decision(schedule, history))
        if any(fact.changes.get("agreement") is not None for fact in history):
            typer.echo(advise(history, len(folder.task().classes)).sentence)
        if test := history[-1].test:
            typer.echo(
                f"Test: accuracy {test.accuracy:.3f}, macro-F1 {test.f1:.3f}, NLL {test.nll:.3f} (scaled "
                f"{test.nll_scaled:.3f}), ECE {test.ece:.3f} (scaled {test.ece_scaled:.3f}) on {test.n} texts."
            )
        typer.echo(f"Model: {folder.model}\nReport: {report}")


def decision(schedule: Schedule, history: Sequence[Round]) -> str:
    """What the schedule has come to, in one sentence."""
    why = [f"{fact.round} ({fact.reason})" for fact in history if fact.reason]
    if why:
        return f"Schedule {schedule.spec}: retrained in round {', '.join(why)}; the other rounds replayed."
    if not isinstance(schedule, HybridAL):
        return f"Schedule {schedule.spec}: every round as planned, {history[-1].word}."
    t_star = schedule.t_star(history)
    length = "1 round" if schedule.patience == 1 else f"{schedule.patience} rounds in a row"
    rule = f"{schedule.signal.name} changed by less than {schedule.epsilon:g} in {length}"
    if t_star is None:
        return f"No switch: there was no stretch in which {rule}; each round retrained."
    if t_star == len(history):
        return f"No switch yet: {rule}, complete in round {t_star}, the last; each round retrained."
    return f"Switch: {rule}, first complete in round {t_star}; fine-tuning from round {t_star + 1} on."


def result(folder: RunFolder, schedule: Schedule, history: Sequence[Round]) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "folder": str(folder.path),
        "schedule": schedule.spec,
        "t_star": schedule.t_star(history) if isinstance(schedule, HybridAL) else None,
        "word": history[-1].word,
        "rounds": [fact.to_json() for fact in history],
    }
