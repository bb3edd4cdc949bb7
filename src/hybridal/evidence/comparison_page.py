"""What a report says about several schedules of one cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybridal.evidence.about import about_tables, task_name
from hybridal.evidence.comparison_table import comparison_table
from hybridal.evidence.detectors import detectors_of
from hybridal.evidence.formats import count, counted, score
from hybridal.evidence.looks import distinct_names
from hybridal.evidence.page import Page, Section
from hybridal.evidence.panels import panels
from hybridal.evidence.round_table import round_table
from hybridal.evidence.summary import Histories, shared_split, sharing
from hybridal.evidence.table import ROUNDS_NOTE, Table
from hybridal.schedules import Schedule


def comparison_page(histories: Histories, schedules: Sequence[Schedule], about: Mapping[str, Any]) -> Page:
    """What there is to say about several schedules of one cell."""
    by_spec, names = {schedule.spec: schedule for schedule in schedules}, distinct_names(histories)
    split = shared_split(histories)
    table = comparison_table(histories, by_spec)
    note = f"Measures are those of the last round, on the {split} texts. The best of each column is marked with a star."
    lengths = {len(history) for history in histories.values()}
    if len(lengths) > 1:
        note += " Schedules that have fewer rounds than others are not at their end and get no star."
    back = [
        Section(
            f"All rounds: {names[spec]}",
            ROUNDS_NOTE,
            round_table(history, detectors_of({spec: history}, by_spec)),
            True,
        )
        for spec, history in histories.items()
        if history
    ]
    return Page(
        title=f"{counted(len(histories), 'schedule')} on {task_name(about)}",
        kicker="Comparison of active-learning schedules",
        story=_comparison_story(histories, table, split),
        cost=_sharing_story(histories),
        front=[Section("Side by side", note, table)],
        panels=panels(histories, by_spec),
        back=back,
        about=about_tables(about),
    )


def _comparison_story(histories: Histories, table: Table, split: str) -> list[str]:
    """Who came out best in what, as the table has it."""
    known = [history for history in histories.values() if history]
    if not known:
        return ["No round is complete yet: there is nothing to compare so far."]
    labels = max(history[-1].labels for history in known)
    rounds = max(len(history) for history in known)
    told = [
        f"{counted(len(histories), 'schedule')} on the same task, up to {counted(rounds, 'round')} and "
        f"{counted(labels, 'label')}. They differ only in how the model is brought up to date in each round."
    ]
    columns = {heading.title: at for at, heading in enumerate(table.headings)}
    wins = {"highest macro-F1": "Macro-F1", "lowest NLL": "NLL", "fewest optimiser steps": "Steps"}
    for what, heading in wins.items():
        best = [row for row in table.rows if row[columns[heading]].mark == "best"]
        if best:
            where = f" on {split}" if heading != "Steps" else ""
            told.append(
                f"The {what}{where}: {', '.join(row[0].text for row in best)} ({best[0][columns[heading]].text})."
            )
    return told


def _sharing_story(histories: Histories) -> list[str]:
    rounds, distinct = sharing(histories)
    if not distinct:
        return []
    return [
        f"Together the schedules have {counted(rounds, 'round')}, of which {count(distinct)} are distinct and had to "
        f"be computed: a sharing factor of {score(rounds / distinct, 2)}. The table has each schedule's own cost, "
        "shared or not."
    ]
