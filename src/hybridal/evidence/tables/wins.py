"""In how many cells is one method better than another by more than its seeds spread?"""

from __future__ import annotations

from collections.abc import Sequence

from hybridal.evidence.looks import distinct_names
from hybridal.evidence.results import Results
from hybridal.evidence.statistics.paired import paired_test
from hybridal.evidence.tables._entries import fixed
from hybridal.evidence.tables._grid import ALPHA, setting_keys, settings
from hybridal.evidence.tables._runs import Run, distinct, paired, runs_of, split_of, those
from hybridal.evidence.tables.measures import F1, NLL, STEPS, Measure
from hybridal.evidence.tables.table import MISSING, Column, Entry, Section, Table
from hybridal.study.folder import StudyFolder


def wins(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """Per pair of methods, the (backbone, task) cells in which the row is significantly better than the column.

    >>> from hybridal.evidence.tables._example import example
    >>> [entry.text for entry in wins(*example()).sections[1].rows[0]]
    ['Retrain', '–', '2/2', '2/2', '1/2', '2/2']
    """
    rows = runs_of(results)
    names = distinct_names(distinct(rows, "schedule"))
    sections = []
    for keys, members in settings(rows, ("backbone",)):
        for measure in (F1.on(split_of(rows)), NLL.on(split_of(rows)), STEPS):
            lines = [(Entry(names[one]), *(_won(members, one, other, measure) for other in names)) for one in names]
            if any(entry.numbers for line in lines for entry in line):
                sections.append(Section((*keys, measure.title), tuple(lines)))
    if not sections:
        return None
    columns = (Column("Better"), *(Column(name, ("cells", "of")) for name in names.values()))
    caption = (
        "In how many (backbone, task) cells the method of the row is better than that of the column (paired t-test "
        f"over seeds, two-sided, p < {ALPHA:g}, not corrected), of the cells that have two seeds or more."
    )
    return Table("wins", caption, columns, tuple(sections), (*setting_keys(rows, ("backbone",)), "Measure"))


def _won(rows: Sequence[Run], one: str, other: str, measure: Measure) -> Entry:
    won = cells = 0
    if one != other:
        mine, theirs = those(rows, schedule=one), those(rows, schedule=other)
        for backbone in distinct(rows, "backbone"):
            for task in distinct(rows, "task"):
                pair = paired(those(mine, backbone=backbone, task=task), theirs, measure.column)
                found = paired_test(*pair)
                cells += found.n > 1
                if found.p is not None and found.p < ALPHA and found.mean is not None:
                    won += found.mean > 0 if measure.higher else found.mean < 0
    return Entry(f"{fixed(0)(won)}/{fixed(0)(cells)}", (won, cells)) if cells else MISSING
