"""The tables of runs: all rounds of one, and several schedules side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hybridal.core.facts import Round
from hybridal.evidence.formats import NONE, change, duration
from hybridal.evidence.history import (
    Histories,
    changes,
    final,
    shared_split,
    short_word,
    signal_names,
    t_star,
    total_cost,
)
from hybridal.evidence.names import distinct_names, look, schedule_name
from hybridal.evidence.table import MISSING, ONE, Column, Entry, Section, Table, measured, whole
from hybridal.measures.stabilisation import Stabilisation
from hybridal.schedules import Schedule

# Heading, field of Metrics, what it means.
MEASURES = (
    ("Macro-F1", "f1", "mean F1 of all classes"),
    ("Accuracy", "accuracy", "share of right answers"),
    ("NLL", "nll", "negative log-likelihood: lower is better"),
    ("NLL scaled", "nll_scaled", "after temperature scaling"),
    ("ECE", "ece", "expected calibration error: lower is better"),
    ("ECE scaled", "ece_scaled", "after temperature scaling"),
)
ROUNDS_NOTE = "Measures are on validation unless they say otherwise; a dot marks a change below ε."


def round_table(history: Sequence[Round], detectors: Mapping[str, Stabilisation]) -> Table:
    """All rounds of one run. `detectors` are by signal; a change below its ε is marked as stable."""
    signals = signal_names({"": history})
    tested = any(fact.test is not None for fact in history)
    columns = [_number("Round"), Column("Update"), _number("Labels", "that the model learnt from")]
    columns += [_number(title, f"on validation; {hint}") for title, _, hint in MEASURES]
    columns += [_number("Brier", "on validation: squared error of the probabilities")]
    columns += [_number("T", "temperature fitted on validation")]
    columns += [_number(title, "on test") for title in ("Test F1", "Test acc.", "Test NLL") if tested]
    columns += [_number(f"Δ {name}", f"change of the signal '{name}' since the round before") for name in signals]
    columns += [_number("Steps", "optimiser steps"), _number("Tokens", "trained on")]
    columns += [_number("Epochs", "run, and the one that was kept")]
    columns += [_number("Training", "with the validation after each epoch"), _number("Whole round")]
    stable = {name: detectors[name].streaks(changes(history, name)) for name in signals if name in detectors}
    rows = []
    for at, fact in enumerate(history):
        row = [whole(fact.round), Entry(schedule_name(fact.update), token=look(fact.update).token), whole(fact.labels)]
        row += [measured(getattr(fact.validation, name, None)) for _, name, _ in MEASURES]
        row += [measured(getattr(fact.validation, "brier", None)), measured(fact.temperature, 2)]
        row += [measured(getattr(fact.test, name, None)) for name in ("f1", "accuracy", "nll")] if tested else []
        for name in signals:
            value = fact.changes.get(name)
            moved = MISSING if value is None else Entry(change(value), (value,))
            row.append(replace(moved, stable=bool(name in stable and stable[name][at])))
        row += [whole(fact.cost.steps), whole(fact.cost.tokens)]
        row.append(Entry(f"{fact.cost.epochs} ({fact.kept_epoch})", (fact.cost.epochs,)))
        for spent in (fact.training_time, sum(fact.seconds.values())):
            row.append(Entry(duration(spent), (spent,)) if fact.seconds else MISSING)
        rows.append(tuple(row))
    return Table("rounds", ROUNDS_NOTE, tuple(columns), (Section((), tuple(rows)),))


def comparison_table(histories: Histories, schedules: Mapping[str, Schedule]) -> Table:
    """One row a schedule, with its end and its whole cost; the best of each column is marked."""
    split, names = shared_split(histories), distinct_names(histories)
    columns = [Column("Schedule")]
    columns += [_number(title, f"on {split}; {hint}") for title, _, hint in MEASURES]
    columns += [_number("Steps", "optimiser steps"), _number("Tokens", "trained on")]
    columns += [_number("Training time", "with the validation after each epoch")]
    columns += [_number("t*", "round in which the signal had settled"), Column("Word", hint="updates in their order")]
    rows = []
    for spec, history in histories.items():
        found, cost = final(history, split), total_cost(history)
        row = [Entry(names[spec], hint=spec, token=look(spec).token)]
        row += [measured(getattr(found[1], name) if found else None) for _, name, _ in MEASURES]
        spent = [fact.training_time for fact in history if fact.seconds]
        row += [whole(cost.steps), whole(cost.tokens)]
        row += [Entry(duration(sum(spent)), (sum(spent),)) if spent else MISSING]
        row += [whole(t_star(schedules.get(spec), history))]
        row += [Entry(short_word(history) or NONE, hint=history[-1].word if history else "")]
        rows.append(row)
    longest = max((len(history) for history in histories.values()), default=0)
    level = [len(history) == longest for history in histories.values()]
    for column, better in enumerate((max, max, min, min, min, min, min, min, min), start=1):
        _mark_best(rows, column, better, level)
    note = f"Measures are those of the last round, on the {split} texts. The best of each column is marked with a star."
    if not all(level):
        note += " Schedules that have fewer rounds than others are not at their end and get no star."
    return Table("comparison", note, tuple(columns), (Section((), tuple(map(tuple, rows))),))


def _number(title: str, hint: str = "") -> Column:
    return Column(title, ONE, hint=hint)


def _mark_best(rows: list[list[Entry]], column: int, better: Callable[..., Any], level: Sequence[bool]) -> None:
    """Marks what reads the same as the best; runs that are not as far as others are out of competition."""
    able = [row for row, fair in zip(rows, level, strict=True) if fair and row[column].value is not None]
    if len(able) < 2:
        return
    best = better((row[column] for row in able), key=lambda entry: entry.value).text
    if all(row[column].text == best for row in able):
        return
    for row in able:
        if row[column].text == best:
            row[column] = replace(row[column], best=True)
