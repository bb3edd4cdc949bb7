"""Answers: the label of a text by the names of its classes, and its number."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import UNKNOWN, Ints


@dataclass(frozen=True)
class Decisions:
    """A partial answer, if a text may have several classes: the other classes are unknown.

    Attributes:
        present: The classes that the text has.
        absent: Those that it does not have.
    """

    present: frozenset[str]
    absent: frozenset[str]

    @classmethod
    def of(cls, decisions: Mapping[str, bool]) -> Decisions:
        """Read decisions by class name.

        >>> Decisions.of({"delivery": True, "price": False})
        Decisions(present=frozenset({'delivery'}), absent=frozenset({'price'}))
        """
        yes, no = (frozenset(name for name, has in decisions.items() if has is what) for what in (True, False))
        return cls(yes, no)

    def added_to(self, known: Answer | None) -> Answer:
        """Return what is known of a text after these decisions; they replace earlier ones on the same classes.

        >>> Decisions.of({"price": False}).added_to(Decisions.of({"delivery": True})).by_class()
        {'delivery': True, 'price': False}
        >>> Decisions.of({"price": False}).added_to(frozenset(["delivery", "price"]))
        frozenset({'delivery'})
        """
        if known is None:
            return self
        if isinstance(known, Decisions):
            return Decisions((known.present - self.absent) | self.present, (known.absent - self.present) | self.absent)
        return (frozenset(_names(known)) - self.absent) | self.present

    def by_class(self) -> dict[str, bool]:
        """The decisions by class name, sorted."""
        return {name: name in self.present for name in sorted(self.present | self.absent)}


Answer = str | frozenset[str] | Decisions
"""The label of a text by name: a class, or if a text may have several a set of classes, or decisions on some."""


def number_of_answer(answer: Answer, index: Callable[[str], int], sets: LabelSets) -> int:
    """Return the number of a set of classes, or of decisions on some.

    Args:
        answer: Names of classes.
        index: Returns the number of a class.
        sets: Numbers the sets.

    >>> number_of_answer(Decisions.of({"a": True}), "ab".index, sets := LabelSets(2)), sets.sets[3]
    (3, ((0,), ()))
    """
    if isinstance(answer, Decisions):
        return sets.number(map(index, answer.present), map(index, answer.absent))
    return sets.number(map(index, [answer] if isinstance(answer, str) else answer))


def names_of(labels: Iterable[Answer | None]) -> list[str]:
    """Return the classes of all labels, one after the other.

    Example:
        >>> names_of(["food", None, frozenset(["sport"])])
        ['food', 'sport']
    """
    return [name for label in labels if label is not None for name in _names(label)]


def _names(label: Answer) -> Iterable[str]:
    if isinstance(label, Decisions):
        return label.by_class()
    return [label] if isinstance(label, str) else label


def number_labels(
    labels: Sequence[Answer | None], classes: Sequence[str], label_sets: LabelSets | None
) -> tuple[list[int], Ints]:
    """Convert labels to numbers.

    Args:
        labels: Classes; or sets of them, if there are `label_sets`.
        classes: The classes of the task. A text of another class is dropped; one of several loses the others.
        label_sets: Numbers the sets, if a text may have several.

    Returns:
        The rows to keep, and their label numbers.

    Example:
        >>> number_labels(["b", None, "c"], ["a", "b"], None)
        ([0, 1], array([ 1, -1]))
        >>> number_labels([frozenset("b"), None, frozenset("c")], ["a", "b"], LabelSets(2))
        ([0, 1, 2], array([ 1, -1,  2]))
    """
    number: dict[Any, int] = {name: i for i, name in enumerate(classes)} | {None: UNKNOWN}
    if label_sets is None:
        keep = [row for row, label in enumerate(labels) if label in number]
        return keep, np.array([number[labels[row]] for row in keep], dtype=np.int64)
    numbers = [
        UNKNOWN if left is None else number_of_answer(left, number.__getitem__, label_sets)
        for left in (only_classes(label, number) for label in labels)
    ]
    return [*range(len(labels))], np.array(numbers, dtype=np.int64)


def only_classes(label: Answer | None, classes: Container[str]) -> frozenset[str] | Decisions | None:
    """Leave out classes that are not among these; None stays unknown.

    Example:
        >>> only_classes(frozenset(["food", "fun"]), ["food"])
        frozenset({'food'})
    """
    if label is None:
        return None
    if isinstance(label, Decisions):
        left = {name: has for name, has in label.by_class().items() if name in classes}
        return Decisions.of(left) if left else None
    return frozenset(name for name in _names(label) if name in classes)
