"""Labels of the database, by class number, as the learner knows them, by name; and back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from hybridal.app.db.class_set import ClassSet
from hybridal.app.labelling.stored_class_sets import Label


def learnable(label: Label, classes: Collection[int]) -> Label | None:
    """Reduce a label to the classes that the model learns; None if nothing of it is left.

    >>> learnable(ClassSet.partial({1: True, 2: False, 9: True}), [1, 2]) == ClassSet.of([1])
    True
    >>> learnable(9, [1, 2]) is None
    True
    """
    if not isinstance(label, ClassSet):
        return label if label in classes else None
    decided = {number: has for number in classes if (has := label.decision(number)) is not None}
    if len(decided) == len(classes):
        return ClassSet.of(number for number, has in decided.items() if has)
    return ClassSet.partial(decided) if decided else None


def to_names(label: Label, names: Mapping[int, str]) -> Any:
    """Return what a learner is taught: a class, a set of classes, or decisions on some of them.

    >>> names = {2: "bug"}
    >>> to_names(2, names), to_names(ClassSet.of([2]), names), to_names(ClassSet.partial({2: False}), names)
    ('bug', frozenset({'bug'}), {'bug': False})
    """
    if not isinstance(label, ClassSet):
        return names[label]
    if label.absent is None:
        return frozenset(names[number] for number in label.present)
    return {names[number]: number in label.present for number in sorted(label.present | label.absent)}


def to_numbers(label: Any, numbers: Mapping[str, int]) -> Label:
    """Return the label of the database that a learner was taught.

    >>> to_numbers({"bug": True}, {"bug": 2}) == ClassSet.partial({2: True})
    True
    """
    if isinstance(label, Mapping):
        return ClassSet.partial({numbers[name]: has for name, has in label.items()})
    return ClassSet.of(numbers[name] for name in label) if isinstance(label, frozenset) else numbers[label]
