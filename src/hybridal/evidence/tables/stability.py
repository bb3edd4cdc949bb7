"""Did the signal come back after the switch?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hybridal.core.facts import Round
from hybridal.evidence.formats import change
from hybridal.evidence.looks import distinct_names
from hybridal.evidence.results import FACTORS, Results, factors
from hybridal.evidence.statistics.switching import switching
from hybridal.evidence.tables._entries import fixed, mean_of, one, percent
from hybridal.evidence.tables._grid import setting_keys, settings
from hybridal.evidence.tables._runs import Run, distinct, hybrids, runs_of, those
from hybridal.evidence.tables.names import task_names
from hybridal.evidence.tables.table import MEAN, MISSING, Column, Entry, Section, Table
from hybridal.schedules.hybrid import HybridAL
from hybridal.study.folder import StudyFolder

Histories = Mapping[tuple[object, ...], Sequence[Round]]
_POOLED = ("backbone",)


def post_switch(results: Results, folder: StudyFolder) -> Table | None:
    """After t*: how far the signal still moved, and how often by ε or more.

    >>> from hybridal.evidence.tables._example import example
    >>> [entry.text for entry in post_switch(*example()).sections[0].rows[0]][:5]
    ['IMDb', '100%', '4.7 ± 0.6', '0.012', '20%']
    """
    rows = runs_of(results)
    watching = hybrids(rows)
    if not watching:
        return None
    histories = {
        (*factors(cell, spec).values(),): history
        for cell in folder.cells
        for spec, history in folder.histories(cell).items()
        if len(history) == cell.settings.rules.rounds
    }
    columns = [Column("Task")]
    for name in distinct_names(watching).values():
        columns += [Column("Fired", ("value",), name), Column("t*", MEAN, name)]
        columns += [Column("Largest after", ("value",), name), Column("≥ ε after", ("value",), name)]
    sections = []
    for keys, members in settings(rows, _POOLED):
        names = task_names(distinct(members, "task"))
        lines = [(Entry(name), *_after(those(members, task=task), histories, watching)) for task, name in names.items()]
        sections.append(Section(keys, tuple(lines)))
    caption = (
        "Signals after the switch, all backbones and seeds together: share of runs that fired, mean t* of those, the "
        "largest change after t*, and the share of the rounds after t* whose change was ε or more. "
        + "; ".join(f"{name}: ε = {watching[spec].epsilon:g}" for spec, name in distinct_names(watching).items())
        + "."
    )
    return Table("post-switch", caption, tuple(columns), tuple(sections), setting_keys(rows, _POOLED))


def _after(rows: Sequence[Run], histories: Histories, watching: Mapping[str, HybridAL]) -> list[Entry]:
    entries = []
    for spec, schedule in watching.items():
        mine = those(rows, schedule=spec)
        if not mine:
            entries += [MISSING] * 4
            continue
        found = switching([histories[_key(row)] for row in mine], schedule)
        fired = [float(t_star) for t_star in found.t_stars if t_star is not None]
        entries += [one(found.fire_rate, percent()), mean_of(fired, fixed(1))]
        entries += [one(found.largest_after, change), one(found.recrossed_share, percent())]
    return entries


def _key(row: Run) -> tuple[object, ...]:
    return tuple(row[name] for name in FACTORS)
