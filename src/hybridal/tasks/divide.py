"""Which rows of one file are for learning, for validation and for the test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybridal.core.outputs import UNKNOWN, Ints
from hybridal.errors import UserError
from hybridal.tasks.splits import draw, validation_size

FEW = 200
"""Fewer labels than this cannot spare 50 for validation; see `divide`."""

TO_LABEL = 50
"""How many texts are set aside for validation when they must first be labelled by hand."""


@dataclass(frozen=True)
class Division:
    """Row numbers, each in one of the three."""

    train: Ints
    validation: Ints
    test: Ints


def divide(labels: Ints, *, validation: int | float | None, test: int | float | None, seed: int) -> Division:
    """Draws validation and test; a size is a count, a share below 1, or None for the default.

    Rows with labels are drawn from, stratified. Where there are none, or a few among many without, validation is
    drawn at random from the rows without: the few stay in train, where they help the most.

    >>> labelled = divide(np.arange(1000) % 2, validation=None, test=None, seed=42)
    >>> len(labelled.train), len(labelled.validation), len(labelled.test)
    (700, 100, 200)
    >>> unlabelled = divide(np.full(1000, UNKNOWN), validation=None, test=None, seed=42)
    >>> len(unlabelled.train), len(unlabelled.validation), len(unlabelled.test)
    (950, 50, 0)
    """
    everything = np.arange(len(labels))
    known = everything[labels != UNKNOWN]
    unknown = everything[labels == UNKNOWN]
    by_hand = len(known) < FEW and len(unknown) > len(known)
    source = everything if not len(known) else known
    n_test = size_asked("test", test, 0 if by_hand else round(len(known) / 5), len(source))
    rows = source[draw(labels[source], [n_test], seed, "test split")[0]]

    source = np.setdiff1d(unknown if by_hand else source, rows)
    default = min(TO_LABEL, validation_size(len(source))) if by_hand else validation_size(len(known))
    n_validation = size_asked("validation", validation, default, len(source))
    held_out = source[draw(labels[source], [n_validation], seed, "validation split")[0]]
    return Division(np.setdiff1d(everything, np.concatenate([rows, held_out])), held_out, rows)


def size_asked(name: str, asked: int | float | None, default: int, available: int) -> int:
    """A size as the user gives it (a count, a share below 1, or None) as a number of rows.

    >>> size_asked("test", 0.25, 10, available=80), size_asked("test", None, 10, available=80)
    (20, 10)
    """
    field = f"{name}_size"
    if asked is None:
        return min(default, available)
    if not (0 <= asked < 1 or (asked >= 1 and float(asked).is_integer())):
        raise UserError(f"`{field}`: {asked} is neither a number of rows nor a share below 1.", field=field)
    size = round(asked * available) if 0 < asked < 1 else int(asked)
    if size > available:
        raise UserError(
            f"`{field}`: {size} rows are asked for and only {available} can be drawn; ask for fewer.", field=field
        )
    return size
