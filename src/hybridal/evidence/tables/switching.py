"""When methods switched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hybridal.evidence.looks import distinct_names
from hybridal.evidence.results import Results
from hybridal.evidence.tables._entries import fixed, mean_of
from hybridal.evidence.tables._grid import setting_keys, settings
from hybridal.evidence.tables._runs import Run, distinct, hybrids, runs_of, those, values
from hybridal.evidence.tables.names import backbone_name, task_names
from hybridal.evidence.tables.table import MEAN, MISSING, Column, Entry, Row, Section, Table
from hybridal.schedules.hybrid import HybridAL
from hybridal.study.folder import StudyFolder

_POOLED = ("backbone",)


def switch_rounds(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """The mean switch round t* of each method, backbone and task, over the seeds that fired.

    >>> from hybridal.evidence.tables._example import example
    >>> [entry.text for entry in switch_rounds(*example()).sections[0].rows[0]]
    ['IMDb', '4.7 ± 0.6', '5.3 ± 1.2']
    """
    rows = runs_of(results)
    watching = hybrids(rows)
    if not watching:
        return None
    names, backbones = distinct_names(watching), distinct(rows, "backbone")
    several = len(backbones) > 1
    columns = [Column("Task")]
    for spec in watching:
        titles = [*(backbone_name(one) for one in backbones), *(["Mean"] if several else [])]
        columns += [Column(title, (*MEAN, "runs"), names[spec]) for title in titles]
    sections = []
    for keys, members in settings(rows, _POOLED):
        tasks = distinct(members, "task")
        lines = [_row(those(members, task=task), task_names(tasks)[task], watching, backbones) for task in tasks]
        if len(tasks) > 1:
            lines.append(_row(members, "Mean", watching, backbones))
        sections.append(Section(keys, tuple(lines)))
    caption = (
        "Switch round t*: mean ± std over the runs that fired; ✗ where none of them did. Means are over all runs that "
        "fired, whatever their task or backbone."
    )
    return Table("switch-rounds", caption, tuple(columns), tuple(sections), setting_keys(rows, _POOLED))


def _row(rows: Sequence[Run], name: str, watching: Mapping[str, HybridAL], backbones: Sequence[str]) -> Row:
    entries = []
    for spec in watching:
        mine = those(rows, schedule=spec)
        parts = [those(mine, backbone=backbone) for backbone in backbones]
        entries += [_t_star(part) for part in [*parts, *([mine] if len(backbones) > 1 else [])]]
    return (Entry(name), *entries)


def _t_star(rows: Sequence[Run]) -> Entry:
    if not rows:
        return MISSING
    entry = mean_of(values(rows, "t_star"), fixed(1), len(rows))
    return entry if entry.numbers[0] is not None else replace(entry, text="✗")
