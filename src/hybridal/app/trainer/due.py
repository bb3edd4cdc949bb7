"""When the model is updated: pure rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Labels:
    """What could be learnt now.

    `new` pool labels are unknown to the model, or known to it otherwise; `per_class` counts all pool labels of each
    class; `validation` counts those that are only measured on.
    """

    new: int
    per_class: Sequence[int]
    validation: int


def lacking(labels: Labels, trained: bool, batch: int, initial: int) -> int:
    """How many more labels the next update waits for, at least.

    A first model needs `initial` labels, two of each of two classes, and one to be measured on; each
    further one a batch of new ones.

    >>> lacking(Labels(new=5, per_class=(4, 1), validation=3), trained=False, batch=16, initial=8)
    3
    >>> lacking(Labels(new=5, per_class=(40, 10), validation=30), trained=True, batch=16, initial=8)
    11
    """
    if trained:
        return max(0, batch - labels.new)
    pairs = sum(max(0, 2 - count) for count in [*sorted(labels.per_class, reverse=True), 0, 0][:2])
    return max(initial - sum(labels.per_class), pairs, 1 - labels.validation, 0)


def is_due(labels: Labels, trained: bool, batch: int, initial: int) -> bool:
    """Whether enough labels are there to update without being asked.

    >>> is_due(Labels(new=9, per_class=(4, 5), validation=7), trained=False, batch=16, initial=8)
    True
    """
    return lacking(labels, trained, batch, initial) == 0


def refusal(labels: Labels) -> str:
    """Why not even somebody who asks for an update gets one; empty where they do.

    >>> refusal(Labels(new=9, per_class=(9, 0), validation=7))
    'All labels to learn from are of one class; label a text of another class first.'
    """
    if not sum(labels.per_class):
        return "There are no labels to learn from yet; label some texts first."
    if sum(count > 0 for count in labels.per_class) < 2:
        return "All labels to learn from are of one class; label a text of another class first."
    if not labels.validation:
        return "No validation text has a label yet, so no model could be measured; label a few more texts first."
    return ""
