"""Print the result of a run, as text or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import typer

from hybridal.core.rounds import Metrics, Round
from hybridal.measures.certainty import figures_in_words, known, shown
from hybridal.reports.encoder_story import encoder_story
from hybridal.reports.history_summary import plain_sequence
from hybridal.reports.number_formats import counted, joined, rounds_between
from hybridal.reports.story import guessing, outlook
from hybridal.runs.record import RunFolder
from hybridal.schedules import Schedule, make_schedule, switched_after
from hybridal.system.files import strict_json


def print_result(folder: RunFolder, json: bool, quiet: bool) -> None:
    """Write the report and print the result."""
    from hybridal.reports.run_report import write_report

    report = write_report(folder)
    history = folder.history()
    schedule = make_schedule(folder.settings().schedule)
    if json:
        typer.echo(strict_json(result(folder, schedule, history)))
    elif not quiet:
        typer.echo(" ".join([*encoder_story(history), decision(schedule, history)]))
        advice, guess = outlook(history, folder.about()), guessing(history)
        if advice:
            typer.echo(advice.sentence)
        if test := history[-1].test:
            typer.echo(tested(test))
        if guess and not (advice and guess in advice.sentence):
            typer.echo(guess)
        typer.echo(f"Model: {folder.model}\nReport: {report}")


def tested(test: Metrics) -> str:
    """Return the metrics that the test texts are enough for, with intervals."""
    nll = f"NLL {test.nll:.3f} (scaled {test.nll_scaled:.3f})"
    figures = [*figures_in_words(test), nll]
    if known(test, "ece") is not None:
        figures.append(f"ECE {test.ece:.3f} (scaled {test.ece_scaled:.3f})")
    return f"Test: {', '.join(figures)} on {counted(test.n, 'text')}."


def decision(schedule: Schedule, history: Sequence[Round]) -> str:
    """Say in one sentence what the schedule decided."""
    if any(record.reason for record in history):
        return _why(schedule, history)
    rule, t_star = schedule.rule, switched_after(schedule, history)
    if rule is None:
        how = "every round as planned" if t_star is None else f"switched after round {t_star}"
        return f"Schedule {schedule.spec}: {how}, {plain_sequence(history)}."
    epsilon, patience = rule.detector.epsilon, rule.detector.patience
    length = "1 round" if patience == 1 else f"{patience} consecutive rounds"
    stable = f"changed by less than {epsilon:g} in {length}"
    so_far = "each round retrained" if {record.update for record in history} == {"retrain"} else plain_sequence(history)
    if t_star is None:
        return f"No switch: {rule.signal.name} never {stable}; {so_far}."
    if t_star == len(history):
        return f"No switch yet: {rule.signal.name} {stable}, but only in round {t_star}, the last; {so_far}."
    then = history[t_star].update.replace("finetune", "fine-tuning")
    return f"Switch: {rule.signal.name} {stable}, up to round {t_star}; {then} from round {t_star + 1} on."


def _why(schedule: Schedule, history: Sequence[Round]) -> str:
    """Describe a schedule that gives reasons; consecutive rounds with the same reason are named together."""
    told: dict[str, list[str]] = {}
    for (update, reason), group in groupby(history, key=lambda record: (record.update, record.reason)):
        first, *_, last = [record.round for record in group] * 2
        if reason:
            told.setdefault(update, []).append(f"{rounds_between(first, last)} ({reason})")
    parts = [f"{update} in {joined(rounds)}" for update, rounds in told.items()]
    others = list(dict.fromkeys(record.update for record in history if not record.reason))
    parts += [f"{joined(others)} in the others"] if others else []
    return f"Schedule {schedule.spec}: {'; '.join(parts)}."


def result(folder: RunFolder, schedule: Schedule, history: Sequence[Round]) -> dict[str, Any]:
    """Return what `--json` prints."""
    return {
        "folder": str(folder.path),
        "schedule": schedule.spec,
        "t_star": switched_after(schedule, history),
        "update_sequence": history[-1].update_sequence,
        "guessing": bool(guessing(history)),
        "rounds": [with_shown_figures(record) for record in history],
    }


def with_shown_figures(record: Round) -> dict[str, Any]:
    """Return a round as JSON: metrics with too few texts are null, the others have an interval."""
    splits = {"validation": record.validation, "test": record.test, "cross": record.cross}
    return record.to_json() | {split: shown(metrics) for split, metrics in splits.items() if metrics is not None}
