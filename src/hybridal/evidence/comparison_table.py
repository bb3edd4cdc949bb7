"""The table of a comparison: one row a schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hybridal.evidence.formats import NONE, duration
from hybridal.evidence.looks import distinct_names, look
from hybridal.evidence.summary import Histories, final, shared_split, short_word, t_star, total_cost
from hybridal.evidence.table import MEASURES, Cell, Heading, Table, measured, number
from hybridal.schedules import Schedule


def comparison_table(histories: Histories, schedules: Mapping[str, Schedule]) -> Table:
    """One row a schedule, with its end and its whole cost; the best of each column is marked."""
    split, names = shared_split(histories), distinct_names(histories)
    headings = [Heading("Schedule", words=True)]
    headings += [Heading(title, f"on {split}; {hint}") for title, _, hint in MEASURES]
    headings += [Heading("Steps", "optimiser steps"), Heading("Tokens", "trained on")]
    headings += [Heading("Training time", "with the validation after each epoch")]
    headings += [
        Heading("t*", "round in which the signal had settled"),
        Heading("Word", "updates in their order", True),
    ]
    rows = []
    for spec, history in histories.items():
        found = final(history, split)
        cost = total_cost(history)
        row = [Cell(names[spec], hint=spec, token=look(spec).token)]
        row += [measured(getattr(found[1], name) if found else None) for _, name, _ in MEASURES]
        spent = [fact.training_time for fact in history if fact.seconds]
        row += [number(cost.steps), number(cost.tokens)]
        row += [Cell(duration(sum(spent)), sum(spent)) if spent else Cell(NONE)]
        settled = t_star(schedules.get(spec), history)
        row += [number(settled), Cell(short_word(history) or NONE, hint=history[-1].word if history else "")]
        rows.append(row)
    longest = max((len(history) for history in histories.values()), default=0)
    level = [len(history) == longest for history in histories.values()]
    for column, better in enumerate((max, max, min, min, min, min, min, min, min), start=1):
        _mark_best(rows, column, better, level)
    return Table(headings, rows)


def _mark_best(rows: list[list[Cell]], column: int, better: Callable[..., Any], level: Sequence[bool]) -> None:
    """Marks what reads the same as the best; runs that are not as far as others are out of competition."""
    able = [row for row, fair in zip(rows, level, strict=True) if fair and row[column].value is not None]
    if len(able) < 2:
        return
    best = better((row[column] for row in able), key=lambda cell: cell.value).text
    if all(row[column].text == best for row in able):
        return
    for row in able:
        if row[column].text == best:
            row[column] = replace(row[column], mark="best")
