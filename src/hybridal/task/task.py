"""A task: texts with stable ids, class names, and train, validation and test splits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hybridal.errors import UserError
from hybridal.outputs import Ints

UNKNOWN = -1


@dataclass(frozen=True)
class Split:
    """Texts with their ids and labels; a label is an index into the task's classes, or UNKNOWN."""

    ids: Sequence[str]
    texts: Sequence[str]
    labels: Ints

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Ints) -> Split:
        """These rows, in this order."""
        return Split([self.ids[i] for i in rows], [self.texts[i] for i in rows], self.labels[rows])

    @classmethod
    def empty(cls) -> Split:
        return cls([], [], np.empty(0, dtype=np.int64))


@dataclass(frozen=True)
class Task:
    """What is to be learnt. The labels of train may be known (a simulation), partly known or unknown.

    >>> rows = Split(["a", "b"], ["good", "bad"], np.array([1, UNKNOWN]))
    >>> task = Task("tiny", ("no", "yes"), rows, Split.empty(), Split.empty())
    >>> len(task.train), task.classes[task.train.labels[0]]
    (2, 'yes')
    """

    name: str
    classes: tuple[str, ...]
    train: Split
    validation: Split
    test: Split

    def splits(self) -> Iterator[tuple[str, Split]]:
        yield "train", self.train
        yield "validation", self.validation
        yield "test", self.test

    @cached_property
    def fingerprint(self) -> str:
        """Changes when any text, id, label or class name does."""
        digest = hashlib.sha256("\0".join(self.classes).encode())
        for name, split in self.splits():
            digest.update(f"\1{name}\1".encode())
            digest.update("\0".join(split.ids).encode("utf-8", "surrogatepass"))
            digest.update("\0".join(split.texts).encode("utf-8", "surrogatepass"))
            digest.update(np.ascontiguousarray(split.labels).tobytes())
        return digest.hexdigest()

    def only(self, classes: Sequence[str]) -> Task:
        """The task with these classes alone, in this order; texts whose label is unknown stay."""
        missing = [name for name in classes if name not in self.classes]
        if missing:
            raise UserError(
                f"--classes: task '{self.name}' has no class '{missing[0]}'; it has {', '.join(self.classes)}."
            )
        renumber = np.full(len(self.classes) + 1, -2, dtype=np.int64)
        renumber[UNKNOWN] = UNKNOWN
        for new, name in enumerate(classes):
            renumber[self.classes.index(name)] = new

        def keep(split: Split) -> Split:
            labels = renumber[split.labels]
            rows = np.flatnonzero(labels != -2)
            return replace(split.take(rows), labels=labels[rows])

        return Task(self.name, tuple(classes), keep(self.train), keep(self.validation), keep(self.test))
