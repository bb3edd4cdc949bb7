"""The annotator of a simulation: it returns the labels that the task came with."""

from __future__ import annotations

from collections.abc import Mapping

from hybridal.annotators import Annotator
from hybridal.core.outputs import UNKNOWN
from hybridal.errors import UserError
from hybridal.tasks.answers import Answer
from hybridal.tasks.task import Task


class Oracle:
    """Returns the labels that the task came with, and asks another annotator for the missing ones.

    >>> import numpy as np
    >>> from hybridal.tasks import Split, Task
    >>> train = Split(["a", "b"], ["good", "bad"], np.array([1, 0]))
    >>> Oracle(Task("t", ("no", "yes"), train, Split.empty(), Split.empty())).label({"a": "good"})
    {'a': 'yes'}
    """

    def __init__(self, task: Task, otherwise: Annotator | None = None) -> None:
        self._task, self._otherwise = task, otherwise
        self._labels = {
            id: int(label) for _, split in task.splits() for id, label in zip(split.ids, split.labels, strict=True)
        }

    def label(self, texts: Mapping[str, str]) -> Mapping[str, Answer]:
        unknown = {id: text for id, text in texts.items() if self._labels[id] == UNKNOWN}
        if unknown and self._otherwise is None:
            raise UserError(
                f"The text with id '{next(iter(unknown))}' of task '{self._task.name}' has no label to simulate with; "
                "give `labels` a file to label texts as they are chosen.",
                field="labels",
            )
        known = {id: self._task.answer(self._labels[id]) for id in texts if id not in unknown}
        return {**known, **(self._otherwise.label(unknown) if unknown and self._otherwise else {})}
