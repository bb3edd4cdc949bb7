"""Answers of tasks with several labels per text: each set of classes is stored as one integer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hybridal.core.outputs import UNKNOWN, Ints

Decided = tuple[tuple[int, ...], tuple[int, ...] | None]
"""The classes that a text has, and those that it does not have; None stands for all others."""


@dataclass(eq=False)
class LabelSets:
    """Numbers sets of classes, so that the label of a text stays one integer.

    0 to C-1 are the single classes, C is the empty set ("none of these"), and other sets are numbered when they first
    occur. Numbers are never reused, and nothing but equality may depend on them. A set may be partial: then only some
    of the classes are decided, and the others are unknown.

    Attributes:
        classes: How many classes there are.
        sets: The sets by number.

    Example:
        >>> sets = LabelSets(3)
        >>> sets.number([1]), sets.number([]), sets.number([2, 0]), sets.number([0, 2])
        (1, 3, 4, 4)
        >>> sets.targets(np.array([1, 3, 4])).tolist()
        [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
        >>> sets.targets(np.array([sets.number([0], absent=[1])])).tolist()
        [[1.0, 0.0, nan]]
    """

    classes: int
    sets: list[Decided] = field(init=False)
    _numbers: dict[Decided, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.sets = [((number,), None) for number in range(self.classes)] + [((), None)]
        self._numbers = {decided: number for number, decided in enumerate(self.sets)}
        self._table = np.zeros((0, self.classes))

    def number(self, present: Iterable[int], absent: Iterable[int] | None = None) -> int:
        """Return the number of a set; a new set gets the next one.

        Args:
            present: The classes that the text has.
            absent: The classes that it does not have; None if these are all others.
        """
        known = tuple(sorted(set(present)))
        lacking = None if absent is None else tuple(sorted(set(absent)))
        if lacking is not None and len(known) + len(lacking) == self.classes:
            lacking = None
        decided = (known, lacking)
        if decided not in self._numbers:
            self._numbers[decided] = len(self.sets)
            self.sets.append(decided)
        return self._numbers[decided]

    def present(self, number: int) -> tuple[int, ...]:
        """Return the classes of a set, in ascending order."""
        return self.sets[number][0]

    def is_whole(self, number: int) -> bool:
        """Return whether every class is decided."""
        return self.sets[number][1] is None

    def extends(self, number: int, earlier: int) -> bool:
        """Return whether a set keeps all decisions of an earlier one; further decisions do not correct it.

        Args:
            number: A label number.
            earlier: The label number of the same text before.

        Example:
            >>> sets = LabelSets(2)
            >>> first = sets.number([0], absent=[])
            >>> sets.extends(0, first), sets.extends(1, first)
            (True, False)
        """
        before, now = self.targets(np.array([earlier, number]))
        known = ~np.isnan(before)
        return bool((before[known] == now[known]).all())

    def targets(self, labels: Ints) -> NDArray[np.float64]:
        """Return 1, 0 or NaN (unknown) for each text and class, (N, C). Rows of unlabelled texts are NaN."""
        if len(self._table) < len(self.sets) + 1:
            # The last row is that of UNKNOWN, which is -1.
            self._table = np.vstack([*(self._row(decided) for decided in self.sets), np.full(self.classes, np.nan)])
        rows: NDArray[np.float64] = self._table[labels]
        return rows

    def _row(self, decided: Decided) -> NDArray[np.float64]:
        present, absent = decided
        row = np.full(self.classes, 0.0 if absent is None else np.nan)
        row[list(present)] = 1.0
        row[list(absent or ())] = 0.0
        return row

    def counts(self, labels: Ints) -> Ints:
        """Return how many texts have each class, (C,)."""
        found: Ints = np.nansum(self.targets(labels), axis=0).astype(np.int64)
        return found

    def rarest_class(self, labels: Ints, counted: Ints | None = None) -> Ints:
        """Return for each text that one of its classes which the fewest texts have, so that classes can be balanced.

        Args:
            labels: Label numbers.
            counted: Label numbers of the texts to count; by default `labels`.

        Returns:
            A class number each; of equal classes the first, `classes` for the empty set, negative labels unchanged.

        Example:
            >>> sets = LabelSets(2)
            >>> sets.rarest_class(np.array([0, 0, 1, 2, sets.number([0, 1]), -1])).tolist()
            [0, 0, 1, 2, 1, -1]
        """
        has_class = self.targets(labels) > 0
        counts = self.counts(labels if counted is None else counted)
        rarest = np.where(has_class, counts, np.iinfo(np.int64).max).argmin(axis=1)
        found: Ints = np.where(has_class.any(axis=1), rarest, self.classes)
        return np.where(labels < 0, labels, found)

    def translated(self, labels: Ints, sets: Sequence[Sequence[Sequence[int] | None]]) -> Ints:
        """Return the numbers here of labels that are numbered by other sets of the same classes.

        Args:
            labels: Numbers of `sets`; negative ones stay.
            sets: The other sets by number.

        Example:
            >>> LabelSets(2).translated(np.array([3, -1, 1]), [[[0], None], [[1], None], [[], None], [[0, 1], None]])
            array([ 3, -1,  1])
        """
        numbers = np.array([self.number(present or (), absent) for present, absent in sets], dtype=np.int64)
        return np.where(labels < 0, labels, numbers[labels])

    def renumbered(self, classes: Sequence[int | None]) -> tuple[LabelSets, Ints]:
        """Return the sets for other classes, and the new number of each old one.

        Args:
            classes: For each new class the old one, or None if it is new.

        Returns:
            New sets, in which classes that are dropped are left out and new ones are absent; and the new numbers, which
            can be indexed with `UNKNOWN`.

        Example:
            >>> sets = LabelSets(2)
            >>> both = sets.number([0, 1])
            >>> other, numbers = sets.renumbered([1, None])
            >>> other.present(numbers[both]), int(numbers[UNKNOWN])
            ((0,), -1)
        """
        new_of = {old: new for new, old in enumerate(classes) if old is not None}
        other = LabelSets(len(classes))
        numbers = np.full(len(self.sets) + 1, UNKNOWN, dtype=np.int64)
        for number, (present, absent) in enumerate(self.sets):
            lacking = None if absent is None else [new_of[c] for c in absent if c in new_of]
            numbers[number] = other.number([new_of[c] for c in present if c in new_of], lacking)
        return other, numbers
