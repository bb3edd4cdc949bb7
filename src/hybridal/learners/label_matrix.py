"""Several labels per text as scikit-learn has them: an indicator matrix; or as a set of classes per text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import Ints
from hybridal.errors import UserError
from hybridal.reports.number_formats import counted
from hybridal.tasks.label_values import is_missing
from hybridal.tasks.single import is_several
from hybridal.tasks.task import Split, Task

Matrix = NDArray[np.bool_]


@dataclass(frozen=True)
class LabelMatrix:
    """Which classes each text has.

    Attributes:
        classes: The classes, in the order of the columns.
        given: One row per text and one column per class.
        is_indicator: Whether the labels were given as a matrix, not as sets.
    """

    classes: tuple[Any, ...]
    given: Matrix
    is_indicator: bool

    @classmethod
    def of(cls, y: Any) -> LabelMatrix | None:
        """Read an indicator matrix, a DataFrame of one, or a set or list of classes per text.

        Nested lists of 0 and 1 of one length are a matrix, as for scikit-learn.

        Args:
            y: The labels.

        Returns:
            The matrix; None if each text has one label.

        Raises:
            UserError: If the matrix has one column or other values than 0 and 1, or the labels of a text are missing.

        Example:
            >>> found = LabelMatrix.of([{"food"}, set(), {"sport", "food"}])
            >>> found.classes, found.given.astype(int).tolist()
            (('food', 'sport'), [[1, 0], [0, 0], [1, 1]])
            >>> LabelMatrix.of([[0, 1], [1, 1]]).classes, LabelMatrix.of(["food", "sport"])
            ((0, 1), None)
        """
        columns = [*y.columns] if hasattr(y, "columns") else None
        if hasattr(y, "toarray"):
            y = y.toarray()
        if columns is not None or getattr(y, "ndim", 1) == 2 or _is_nested(y):
            return _of_matrix(np.asarray(y), columns)
        if any(is_several(labels) for labels in y):
            return _of_sets([*y])
        return None

    def task(self, texts: Sequence[Any], validation_size: int, seed: int) -> Task:
        """Return a task of these texts, of which some are drawn for validation.

        Args:
            texts: The texts, in the order of the rows.
            validation_size: How many to draw.
            seed: Seed of the draw.
        """
        if len(texts) != len(self.given):
            there = f"{counted(len(texts), 'text')} and {counted(len(self.given), 'label')}"
            raise UserError(f"texts: got {there}; give one for each text.")
        task = Task.from_texts(
            texts, classes=list(self.classes), validation_size=validation_size, test_size=0, split_seed=seed
        )
        sets = LabelSets(len(self.classes))
        numbers = np.array([sets.number(np.flatnonzero(row).tolist()) for row in self.given], dtype=np.int64)
        train, validation = (_labelled(split, numbers) for split in (task.train, task.validation))
        return replace(task, train=train, validation=validation, label_sets=sets)


def as_sets(given: Matrix, classes: Sequence[Any]) -> NDArray[Any]:
    """Return the set of classes of each row, as an array of frozensets.

    >>> as_sets(np.array([[True, False], [False, False]]), ["food", "sport"]).tolist()
    [frozenset({'food'}), frozenset()]
    """
    found = np.empty(len(given), dtype=object)
    for row, there in enumerate(given):
        found[row] = frozenset(classes[one] for one in np.flatnonzero(there).tolist())
    return found


def as_matrix(labels: Iterable[Any], classes: Sequence[Any]) -> Matrix:
    """Return an indicator matrix of sets of classes; other classes are left out.

    >>> as_matrix([{"food"}, set()], ["food", "sport"]).tolist()
    [[True, False], [False, False]]
    """
    rows = [[one in own for one in classes] for own in map(frozenset, labels)]
    return np.array(rows, dtype=np.bool_).reshape(len(rows), len(classes))


def _is_nested(y: Any) -> bool:
    """Whether this is a list of lists of 0 and 1, all of one length above 1."""
    if not isinstance(y, list | tuple) or not all(isinstance(row, list | tuple | np.ndarray) for row in y):
        return False
    lengths = {len(row) for row in y}
    return len(lengths) == 1 and lengths.pop() > 1 and all(_is_bit(value) for row in y for value in row)


def _is_bit(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_) and value in (0, 1)


def _of_matrix(matrix: NDArray[Any], columns: Sequence[Any] | None) -> LabelMatrix:
    rows, width = matrix.shape
    if width < 2:
        raise UserError(
            f"y has {width} column{'' if width == 1 else 's'}; give one label per text as a list or column, or an "
            "indicator matrix with a column for each class."
        )
    wrong = np.array([not _is_bit(value) for value in matrix.ravel().tolist()], dtype=np.bool_).reshape(rows, width)
    if wrong.any():
        row, column = (int(place) for place in np.argwhere(wrong)[0])
        value = matrix[row : row + 1, column].tolist()[0]  # a number of Python, which reads better
        raise UserError(f"y: row {row}, column {column} is {value!r:.40}; an indicator matrix has 0 and 1 only.")
    classes = range(width) if columns is None else columns
    plain = tuple(one.item() if isinstance(one, np.generic) else one for one in classes)
    return LabelMatrix(plain, matrix.astype(np.bool_), True)


def _of_sets(labels: Sequence[Any]) -> LabelMatrix:
    for row, own in enumerate(labels):
        if not is_several(own) and is_missing(own):
            raise UserError(f"y: text {row} has no label; leave it out, or give an empty set if no class applies.")
        if not is_several(own) or isinstance(own, Mapping):
            raise UserError(f"y: number {row} is {own!r:.40}, and others are sets of classes; give each text a set.")
        if any(is_several(one) or is_missing(one) for one in own):
            raise UserError(f"y: number {row} is {own!r:.40}; each item must be a class.")
    plain = [frozenset(one.item() if isinstance(one, np.generic) else one for one in own) for own in labels]
    there = frozenset().union(*plain)
    try:
        classes = tuple(sorted(there))
    except TypeError:  # of several types
        classes = tuple(sorted(there, key=str))
    return LabelMatrix(classes, as_matrix(plain, classes), False)


def _labelled(split: Split, numbers: Ints) -> Split:
    """The split with its labels; ids are row numbers."""
    return replace(split, labels=numbers[[int(id) for id in split.ids]] if len(split) else split.labels)
