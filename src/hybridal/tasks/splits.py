"""Draw train, validation and test splits, stratified and seeded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import UNKNOWN, Ints
from hybridal.errors import UserError
from hybridal.randomness import check_seed, stream
from hybridal.tasks.task import Split


def validation_size(rows: int) -> int:
    """Return the default size of validation: a tenth of the rows, at least 50, at most 1,000 or a quarter.

    Fewer than 50 say little about a model, more than 1,000 cost time in every epoch, and most rows are for training.

    >>> [validation_size(rows) for rows in (10, 100, 300, 2000, 100_000)]
    [2, 25, 50, 200, 1000]
    """
    return max(1, min(max(rows // 10, 50), 1000, rows // 4))


def shares(counts: Ints, size: int) -> Ints:
    """Return the rows per class of a stratified draw: proportional, rounded by largest remainder.

    If possible, the rounding leaves at least one row of each class undrawn, so that rare classes stay in train.

    >>> shares(np.array([90, 9, 1]), 20).tolist()
    [18, 2, 0]
    """
    total = int(counts.sum())
    if not 0 <= size <= total:
        raise UserError(f"{size} rows cannot be drawn out of {total}; ask for fewer.")
    # Use integers: rounding of floats would decide ties.
    taken, remainder = np.divmod(counts * size, max(total, 1))
    last = taken + 1 >= counts
    order = sorted(range(len(counts)), key=lambda c: (remainder[c] == 0, last[c], -remainder[c], c))
    taken[order[: size - int(taken.sum())]] += 1
    return taken


def draw(labels: Ints, sizes: Sequence[int], seed: int, purpose: str = "split") -> list[Ints]:
    """Draw disjoint stratified samples, one per size; the last array has the remaining rows.

    Only rows with a label are drawn. If no row has a label, the draws are random. Row numbers are sorted, so that a
    split keeps the order of its source.

    >>> test, validation, rest = draw(np.array([0, 0, 0, 0, 1, 1, 1, 1]), [4, 2], seed=42)
    >>> len(test), len(validation), len(rest), sorted([*test, *validation, *rest]) == list(range(8))
    (4, 2, 2, True)
    """
    labels = np.asarray(labels, dtype=np.int64)
    known = labels >= 0
    if not known.any():
        labels, known = np.zeros_like(labels), np.ones_like(known)
    left = stream(seed, purpose).permutation(len(labels))
    parts: list[Ints] = []
    for size in sizes:
        counts = np.bincount(labels[left][known[left]], minlength=1)
        taken = shares(counts, size)
        chosen = np.zeros(len(left), dtype=bool)
        for label, count in enumerate(taken):
            chosen[np.flatnonzero(labels[left] == label)[:count]] = True
        parts.append(np.sort(left[chosen]))
        left = left[~chosen]
    return [*parts, np.sort(left)]


FEW_LABELS = 200
"""With fewer labels, none are used for validation; see `divide`."""

UNLABELLED_VALIDATION = 50
"""Number of validation texts when they must be labelled by hand first."""


@dataclass(frozen=True)
class Division:
    """Row numbers, each in one of the three."""

    train: Ints
    validation: Ints
    test: Ints


def divide(labels: Ints, *, validation: int | float | None, test: int | float | None, seed: int) -> Division:
    """Draw validation and test; a size is a count, a share below 1, or None for the default.

    Draws are stratified over the labelled rows. If there are none, or only a few, validation is drawn at random from
    the rows without label, so that the few labels stay in train.

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
    by_hand = len(known) < FEW_LABELS and len(unknown) > len(known)
    source = everything if not len(known) else known
    n_test = number_of_rows("test", test, 0 if by_hand else round(len(known) / 5), len(source))
    rows = source[draw(labels[source], [n_test], seed, "test split")[0]]

    source = np.setdiff1d(unknown if by_hand else source, rows)
    default = min(UNLABELLED_VALIDATION, validation_size(len(source))) if by_hand else validation_size(len(known))
    n_validation = number_of_rows("validation", validation, default, len(source))
    held_out = source[draw(labels[source], [n_validation], seed, "validation split")[0]]
    return Division(np.setdiff1d(everything, np.concatenate([rows, held_out])), held_out, rows)


def number_of_rows(name: str, asked: int | float | None, default: int, available: int) -> int:
    """Convert a size (a count, a share below 1, or None) to a number of rows.

    >>> number_of_rows("test", 0.25, 10, available=80), number_of_rows("test", None, 10, available=80)
    (20, 10)
    """
    field = f"{name}_size"
    if asked is None:
        return min(default, available)
    is_number = isinstance(asked, int | float | np.number) and not isinstance(asked, bool)
    if not is_number or not (0 <= asked < 1 or (asked >= 1 and float(asked).is_integer())):
        raise UserError(f"`{field}`: {asked!r} is neither a number of rows nor a share below 1.", field=field)
    size = round(asked * available) if 0 < asked < 1 else int(asked)
    if size > available:
        raise UserError(
            f"`{field}`: {size} rows are asked for and only {available} can be drawn; ask for fewer.", field=field
        )
    return size


def hold_out(
    name: str,
    splits: Mapping[str, Split],
    sizes: Mapping[str, int | float | None],
    seed: int,
    given: Mapping[str, str] | None = None,
    label_sets: LabelSets | None = None,
) -> tuple[Split, Split, Split]:
    """Return train, validation and test; missing splits are drawn from train.

    Args:
        name: Name of the data, for error messages.
        splits: The existing splits; train is required.
        sizes: Sizes of validation and test.
        seed: Seed of the draws.
        given: Where existing splits come from, for the error if a size is given too.
        label_sets: The sets of classes, if a text may have several; its stratum is then its rarest class.

    >>> rows = Split([str(i) for i in range(100)], ["text"] * 100, np.arange(100) % 2)
    >>> parts = hold_out("mail", {"train": rows, "test": rows}, {"validation": 10, "test": None}, seed=42)
    >>> [len(part) for part in parts]
    [90, 10, 100]
    """
    check_seed(seed, "split_seed")
    for part, size in sizes.items():
        if part in splits and size is not None:
            where = (given or {}).get(part, "a split")
            raise UserError(
                f"`{part}_size`: {part} is given as {where}; use only one of the two.", field=f"{part}_size"
            )
    asked = {part: 0 if part in splits else size for part, size in sizes.items()}
    train = splits["train"]
    strata = train.labels if label_sets is None else label_sets.rarest_class(train.labels)
    drawn = divide(strata, validation=asked["validation"], test=asked["test"], seed=seed)
    if not len(drawn.train):
        raise UserError(f"{name}: no row is left to learn from; hold fewer out for validation and test, or give more.")
    validation = splits["validation"] if "validation" in splits else train.take(drawn.validation)
    test = splits["test"] if "test" in splits else train.take(drawn.test)
    return train.take(drawn.train), validation, test
