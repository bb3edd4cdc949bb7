"""Calibration through the rounds."""

from __future__ import annotations

from collections.abc import Sequence

from hybridal.evidence.looks import distinct_names
from hybridal.evidence.results import Results
from hybridal.evidence.tables._entries import fixed, mean_of
from hybridal.evidence.tables._grid import setting_keys, settings
from hybridal.evidence.tables._runs import Run, distinct, plain, those
from hybridal.evidence.tables.table import MEAN, Column, Entry, Row, Section, Table
from hybridal.study.folder import StudyFolder

_LAST = 5
_ALL = 10


def ece_by_round(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """Validation ECE by round and method, and over the last five rounds together.

    >>> from hybridal.evidence.tables._example import example
    >>> [row[0].text for row in ece_by_round(*example()).sections[0].rows]
    ['1', '2', '3', '4', '5', '6', '7', '8', 'Last 5']
    """
    rounds = [row for row in plain(results.rounds) if row["validation_ece"] is not None]
    if not rounds:
        return None
    names = distinct_names(distinct(rounds, "schedule"))
    sections = tuple(Section(keys, tuple(_rows(members, list(names)))) for keys, members in settings(rounds))
    columns = (Column("Round"), *(Column(name, MEAN) for name in names.values()))
    caption = "Validation ECE in percent (15 bins) by round: mean ± std over all tasks and seeds."
    return Table("ece-by-round", caption, columns, sections, setting_keys(rounds))


def _rows(rounds: Sequence[Run], specs: Sequence[str]) -> list[Row]:
    last = max(row["round"] for row in rounds)
    lines = [(f"{t}", range(t, t + 1)) for t in shown_rounds(last)]
    if last > _LAST:
        lines.append((f"Last {_LAST}", range(last - _LAST + 1, last + 1)))
    rows: list[Row] = []
    for title, stretch in lines:
        some = [row for row in rounds if row["round"] in stretch]
        found = [[100 * row["validation_ece"] for row in those(some, schedule=spec)] for spec in specs]
        rows.append((Entry(title), *(mean_of(values, fixed(2)) for values in found)))
    return rows


def shown_rounds(last: int) -> list[int]:
    """All rounds of a short run; of a long one every fifth, and the last.

    >>> shown_rounds(3), shown_rounds(24)
    ([1, 2, 3], [5, 10, 15, 20, 24])
    """
    return list(range(1, last + 1)) if last <= _ALL else sorted({*range(5, last + 1, 5), last})
