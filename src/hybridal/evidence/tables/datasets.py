"""The tasks of a study: how many texts of which class in which split."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hybridal.core.outputs import UNKNOWN
from hybridal.evidence.results import Results
from hybridal.evidence.tables._entries import fixed, one
from hybridal.evidence.tables.names import task_names
from hybridal.evidence.tables.table import MISSING, Column, Entry, Row, Section, Table
from hybridal.study.folder import StudyFolder, task_key
from hybridal.study.study import CellPlan
from hybridal.tasks.task import Task

_SPLITS = ("Train", "Validation", "Test")


def datasets(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """Class counts and shares per split.

    >>> from hybridal.evidence.tables._example import example
    >>> table = datasets(*example())
    >>> [[entry.text for entry in row] for row in table.sections[0].rows]  # doctest: +NORMALIZE_WHITESPACE
    [['sport', '60', '50.00', '20', '50.00', '15', '50.00'],
     ['food', '60', '50.00', '20', '50.00', '15', '50.00'],
     ['Total', '120', '–', '40', '–', '30', '–']]
    """
    sections = [Section((name,), tuple(_rows(task))) for name, task in _tasks(folder)]
    if not sections:
        return None
    columns = [Column("Class")]
    for split in _SPLITS:
        columns += [Column("Texts", ("value",), split), Column("%", ("value",), split)]
    caption = (
        "Texts per class and split; train is the pool that is learnt from. Where splits are drawn by the run's seed, "
        "these are those of the first seed, and validation is shown before a variant takes a part of it."
    )
    return Table("datasets", caption, tuple(columns), tuple(sections), ("Task",))


def dataset_sizes(results: Results, folder: StudyFolder) -> Table | None:  # noqa: ARG001
    """Classes and texts of each task.

    >>> from hybridal.evidence.tables._example import example
    >>> [entry.text for entry in dataset_sizes(*example()).sections[0].rows[1]]
    ['AG News', '3', '120', '40', '30', '190']
    """
    rows: list[Row] = []
    for name, task in _tasks(folder):
        sizes = [len(split) for _, split in task.splits()]
        rows.append((Entry(name), *(one(n, fixed(0)) for n in (len(task.classes), *sizes, sum(sizes)))))
    if not rows:
        return None
    columns = (Column("Task"), *(Column(title, ("value",)) for title in ("Classes", *_SPLITS, "All")))
    return Table("dataset-sizes", "Tasks: classes and texts.", columns, (Section((), tuple(rows)),))


def _tasks(folder: StudyFolder) -> Iterator[tuple[str, Task]]:
    """Each task once, as its first cell has it; without those whose texts are no longer there."""
    first: dict[str, CellPlan] = {}
    for cell in folder.cells:
        first.setdefault(cell.settings.task, cell)
    names = task_names(first)
    for name, cell in first.items():
        if (folder.task_home(task_key(cell.settings)) / "task.json").is_file():
            yield names[name], folder.task(cell)


def _rows(task: Task) -> Iterator[Row]:
    labels = [split.labels for _, split in task.splits()]
    classes = dict(enumerate(task.classes))
    if any(bool(np.any(split == UNKNOWN)) for split in labels):
        classes[UNKNOWN] = "(not labelled)"
    for label, name in classes.items():
        entries = []
        for split in labels:
            n = int(np.count_nonzero(split == label))
            entries += [one(n, fixed(0)), one(100 * n / len(split) if len(split) else None, fixed(2))]
        yield (Entry(name), *entries)
    totals = [entry for split in labels for entry in (one(len(split), fixed(0)), MISSING)]
    yield (Entry("Total"), *totals)
