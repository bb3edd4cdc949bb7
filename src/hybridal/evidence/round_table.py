"""The table of all rounds of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hybridal.core.facts import Round
from hybridal.evidence.formats import change
from hybridal.evidence.looks import look, schedule_name
from hybridal.evidence.summary import changes, signal_names
from hybridal.evidence.table import MEASURES, Cell, Heading, Table, measured, number, timed
from hybridal.measures.stabilisation import Stabilisation


def round_table(history: Sequence[Round], detectors: Mapping[str, Stabilisation]) -> Table:
    """All rounds of one run. `detectors` are by signal; a change below its ε is marked as stable."""
    signals = signal_names({"": history})
    tested = any(fact.test is not None for fact in history)
    headings = [Heading("Round"), Heading("Update", words=True), Heading("Labels", "that the model learnt from")]
    headings += [Heading(title, f"on validation; {hint}") for title, _, hint in MEASURES]
    headings += [Heading("Brier", "on validation: squared error of the probabilities")]
    headings += [Heading("T", "temperature fitted on validation")]
    headings += [Heading(title, "on test") for title in ("Test F1", "Test acc.", "Test NLL") if tested]
    headings += [Heading(f"Δ {name}", f"change of the signal '{name}' since the round before") for name in signals]
    headings += [Heading("Steps", "optimiser steps"), Heading("Tokens", "trained on")]
    headings += [Heading("Epochs", "run, and the one that was kept")]
    headings += [Heading("Training", "with the validation after each epoch"), Heading("Whole round")]
    stable = {name: detectors[name].streaks(changes(history, name)) for name in signals if name in detectors}
    rows = []
    for at, fact in enumerate(history):
        row = [number(fact.round), Cell(schedule_name(fact.update), token=look(fact.update).token), number(fact.labels)]
        row += [measured(getattr(fact.validation, name, None)) for _, name, _ in MEASURES]
        row += [measured(getattr(fact.validation, "brier", None)), measured(fact.temperature, 2)]
        row += [measured(getattr(fact.test, name, None)) for name in ("f1", "accuracy", "nll")] if tested else []
        for name in signals:
            value = fact.changes.get(name)
            row.append(Cell(change(value), value, "stable" if stable.get(name, [0] * (at + 1))[at] else ""))
        row += [number(fact.cost.steps), number(fact.cost.tokens)]
        row.append(Cell(f"{fact.cost.epochs} ({fact.kept_epoch})", fact.cost.epochs))
        row += [timed(fact.training_time, fact), timed(sum(fact.seconds.values()), fact)]
        rows.append(row)
    return Table(headings, rows)
