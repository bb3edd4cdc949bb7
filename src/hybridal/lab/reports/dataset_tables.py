"""Tables of the tasks of a study: sizes and classes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hybridal.core.outputs import UNKNOWN
from hybridal.lab.study.study import CellPlan
from hybridal.lab.study.study_folder import StudyFolder, task_key
from hybridal.lab.study.study_results import Results
from hybridal.reports.display_names import task_names
from hybridal.reports.number_formats import fixed
from hybridal.reports.report_table import MISSING, ONE, Column, Entry, Row, Table, one, table_of
from hybridal.tasks.task import Task

_SPLITS = ("Train", "Validation", "Test")


def dataset_sizes(results: Results) -> Table | None:
    """Classes and texts of each task."""
    rows: list[Row] = []
    for name, task in _tasks(results.folder):
        sizes = [len(split) for _, split in task.splits()]
        rows.append((Entry(name), *(one(n, fixed(0)) for n in (len(task.classes), *sizes, sum(sizes)))))
    columns = [Column("Task"), *(Column(title, ONE) for title in ("Classes", *_SPLITS, "All"))]
    return table_of("dataset-sizes", "Tasks: classes and texts.", columns, [((), rows)])


def datasets(results: Results) -> Table | None:
    """Class counts and shares per split."""
    sections = [((name,), list(_classes(task))) for name, task in _tasks(results.folder)]
    columns = [Column("Class"), *(Column(title, ONE, split) for split in _SPLITS for title in ("Texts", "%"))]
    caption = (
        "Texts per class and split; train is the pool that is learnt from. Where splits are drawn by the run's seed, "
        "these are those of the first seed, and validation is shown before a variant takes a part of it."
    )
    if any(task.multi_label for _, task in _tasks(results.folder)):
        caption += " A text with several labels counts for each of them."
    return table_of("datasets", caption, columns, sections, ("Task",))


def _tasks(folder: StudyFolder) -> Iterator[tuple[str, Task]]:
    """Return each task once, from its first cell, except those whose texts are gone."""
    first: dict[str, CellPlan] = {}
    for cell in folder.cells:
        first.setdefault(cell.settings.task, cell)
    names = task_names(first)
    for name, cell in first.items():
        if is_there(folder, cell):
            yield names[name], folder.task(cell)


def is_there(folder: StudyFolder, cell: CellPlan) -> bool:
    """Whether the study folder holds the texts of the cell's task."""
    return (folder.task_home(task_key(cell.settings)) / "task.json").is_file()


def _classes(task: Task) -> Iterator[Row]:
    labels = [split.labels for _, split in task.splits()]
    counts = dict(zip(task.classes, np.transpose([task.class_counts(split) for split in labels]), strict=True))
    if task.label_sets is not None:
        none = task.label_sets.number([])
        counts["(none of these)"] = np.array([np.count_nonzero(split == none) for split in labels])
    unknown = np.array([np.count_nonzero(split == UNKNOWN) for split in labels])
    if unknown.any():
        counts["(not labelled)"] = unknown
    for name, found in counts.items():
        entries = []
        for split, n in zip(labels, found.tolist(), strict=True):
            entries += [one(n, fixed(0)), one(100 * n / len(split) if len(split) else None, fixed(2))]
        yield (Entry(name), *entries)
    totals = [entry for split in labels for entry in (one(len(split), fixed(0)), MISSING)]
    yield (Entry("Total"), *totals)
