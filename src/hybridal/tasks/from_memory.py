"""Make tasks from lists and DataFrames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridal.core.outputs import UNKNOWN, Ints
from hybridal.errors import UserError
from hybridal.tasks.class_names import note_lookalikes, refuse_measurements, sort_names
from hybridal.tasks.columns import check_different
from hybridal.tasks.read import visible
from hybridal.tasks.single import ONE_LABEL, ONE_TEXT, is_several, unusable
from hybridal.tasks.splits import hold_out
from hybridal.tasks.task import Split, Task, check_classes, check_name_lengths, is_missing, label_text, to_python_scalar

if TYPE_CHECKING:
    import pandas as pd

# Types of ids and labels, besides strings, that users get back as they gave them.
KINDS: tuple[type, ...] = (bool, int, float)


def from_texts(
    texts: Iterable[str],
    labels: Iterable[Any] | None = None,
    *,
    ids: Iterable[Any] | None = None,
    classes: Iterable[Any] | None = None,
    name: str = "texts",
    validation_size: int | float | None = None,
    test_size: int | float | None = None,
    split_seed: int = 42,
) -> Task:
    """Make a task from texts with labels for all, some or none of them.

    Texts, labels and ids are lists, arrays or columns of a frame. A missing label is None, NaN or ""; without any
    labels, `classes` is required. Ids default to row numbers. Validation and test are drawn as for files (see
    `load_files`).

    >>> task = from_texts(["good", "bad", "fine"] * 20, [1, 0, None] * 20, test_size=0, validation_size=0)
    >>> task.classes, task.train.ids[:2], task.label(1), task.id("2")
    (('0', '1'), ['0', '1'], 1, 2)
    """
    whole, types = split_of(texts, labels, ids, classes, name, may_differ=False)
    sizes = {"validation": validation_size, "test": test_size}
    return Task(name, types.pop("classes"), *hold_out(name, {"train": whole}, sizes, split_seed), **types)


def from_pandas(
    frame: Any,
    text: str = "text",
    label: str | None = None,
    id: str | None = None,
    *,
    classes: Iterable[Any] | None = None,
    name: str = "frame",
    validation_size: int | float | None = None,
    test_size: int | float | None = None,
    split_seed: int = 42,
) -> Task:
    """Make a task from a pandas or Polars DataFrame or an Arrow table; ids are its index unless `id` names a column.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"body": ["good", "bad"] * 20, "kind": ["+", "-"] * 20})
    >>> from_pandas(frame, text="body", label="kind", test_size=0).classes
    ('+', '-')
    """
    frame = _as_pandas(frame)
    named: list[tuple[str, Any, str]] = [("text", text, ONE_TEXT), ("label", label, ONE_LABEL)]
    for what, asked, one in named:
        if isinstance(asked, list | set):  # a tuple may name a column of several levels
            raise UserError(f"`{what}` names {len(asked)} columns; {one}", field=what)
    check_different(text, label, id)
    for column in (text, label, id):
        if column is not None and column not in frame.columns:
            there = ", ".join(map(str, frame.columns))
            raise UserError(f"The frame has no column '{column}'; it has {there}.")
        if column is not None and (several := list(frame.columns).count(column)) > 1:
            raise UserError(f"The frame has {several} columns '{column}'; rename all but one.")
    if label is None and classes is None:
        raise UserError(
            "The frame's classes are not known; name the column of labels with `label`, or the classes with `classes`.",
            field="label",
        )
    if id is None and (levels := frame.index.nlevels) > 1:
        raise UserError(f"The frame's index has {levels} levels; name a column of ids with `id`.", field="id")
    if id is None and not frame.index.is_unique:
        twice = frame.index[frame.index.duplicated()][0]
        raise UserError(
            f"The frame's index has '{label_text(twice):.40}' twice; name a column of ids with `id`, or renumber the "
            "rows with `reset_index`.",
            field="id",
        )
    return from_texts(
        frame[text],
        None if label is None else frame[label],
        ids=frame.index if id is None else frame[id],
        classes=classes,
        name=name,
        validation_size=validation_size,
        test_size=test_size,
        split_seed=split_seed,
    )


def _as_pandas(frame: Any) -> pd.DataFrame:
    """Convert a frame to pandas; Polars and Arrow have `to_pandas`."""
    if callable(convert := getattr(frame, "to_pandas", None)) and hasattr(frame, "columns"):
        frame = convert()
    if hasattr(frame, "iloc") and hasattr(frame, "columns"):
        found: pd.DataFrame = frame
        return found
    hint = "call its `collect` first" if hasattr(frame, "collect") else "give lists or columns to from_texts"
    raise UserError(f"Expected a pandas or Polars DataFrame or an Arrow table, got a {type(frame).__name__}; {hint}.")


def split_of(
    texts: Any, labels: Any, ids: Any, classes: Any, name: str, may_differ: bool
) -> tuple[Split, dict[str, Any]]:
    """Return all rows as a split, with the class names and the types of ids and labels.

    Args:
        texts: The texts.
        labels: Their labels, or None.
        ids: Their ids, or None for row numbers.
        classes: Class names, or None to use the labels.
        name: Name of the data, for error messages.
        may_differ: Allow classes without texts and texts of other classes, as in one of several splits.
    """
    texts = as_list(texts, "texts" if name == "texts" else f"{name}: texts", ONE_TEXT)
    labels = [None] * len(texts) if labels is None else as_list(labels, f"{name}: labels", ONE_LABEL)
    ids = list(range(len(texts))) if ids is None else as_list(ids, f"{name}: ids")
    for what, values in (("labels", labels), ("ids", ids)):
        if len(values) != len(texts):
            raise UserError(f"{name}: there are {len(texts)} texts and {len(values)} {what}; give one for each text.")
    if not texts and not may_differ:
        raise UserError(f"{name}: there are no texts; give some.")
    _check_texts(texts, ids, name)
    found = [None if is_missing(label) or not label_text(label).strip() else label_text(label) for label in labels]
    check_name_lengths(f"{name}: a label", filter(None, found))
    named = classes is not None
    if not named:
        # Compare names: the values True and 1 are equal.
        refuse_measurements(name, found)
        classes = _sorted({key: label for key, label in zip(found, labels, strict=True) if key is not None}.values())
        if not classes:
            raise UserError(f"{name}: no text has a label; name the classes.")
    else:
        classes = class_list(classes)
    names = tuple("" if is_missing(one) else label_text(one) for one in classes)
    check_classes(names)
    if not may_differ:
        _check_asked(names, found, name)
        note_lookalikes(name, found, names if named else ())
    number = {name: i for i, name in enumerate(names)}
    keep = [row for row, label in enumerate(found) if label is None or label in number]
    numbers: Ints = np.array([number.get(found[row] or "", UNKNOWN) for row in keep], dtype=np.int64)
    keys = [label_text(ids[row]) for row in keep]
    if len(set(keys)) < len(keys):
        twice, _ = Counter(keys).most_common(1)[0]
        raise UserError(f"{name}: the id '{twice:.40}' occurs twice; make ids unique.")
    for what, strings in (("text", texts), ("id", keys), ("class", names)):
        _check_whole(strings, f"{name}: {what}")
    gaps = any(label is None for label in found)
    kinds = {"classes": names, "id_type": kind_of(ids), "label_type": kind_of(classes, gaps)}
    return Split(keys, [texts[row] for row in keep], numbers), kinds


def as_list(values: Any, what: str, one: str = "") -> list[Any]:
    """Convert a column to a list; refuse strings, mappings, and items that are not one value.

    Args:
        values: A list, a column or a one-dimensional array.
        what: Name of the values, for error messages.
        one: Refuse tuples too, with this sentence.
    """
    if isinstance(values, str | bytes | Mapping | set | frozenset) or not isinstance(values, Iterable):
        raise UserError(f"{what} must be a list, a column or a one-dimensional array, not {values!r:.40}.")
    listed = list(values.tolist() if hasattr(values, "tolist") else values)
    for row, value in enumerate(listed):
        if is_several(value) and (one or not isinstance(value, tuple)):
            raise UserError(f"{what}: number {row} is {value!r:.40}; {one or 'each must be one value.'}")
        if wrong := unusable(value):
            raise UserError(f"{what}: number {row} is {value!r:.40}{wrong}.")
    return listed


def class_list(classes: Any) -> list[Any]:
    """Return the classes in their order; a set is sorted."""
    return as_list(_sorted(classes) if isinstance(classes, set | frozenset) else classes, "`classes`")


def _check_texts(texts: Sequence[Any], ids: Sequence[Any], name: str) -> None:
    wordless = [row for row, text in enumerate(texts) if not isinstance(text, str) or not visible(text)]
    if wordless:
        first, more = wordless[0], len(wordless) - 1
        others, them = (f", and {more} more have no words", "them") if more else ("", "it")
        found = f"text {first} (id {ids[first]!r}) is {_short(texts[first])}{others}"
        raise UserError(f"{name}: {found}; leave {them} out or give {them} words.")
    for row, id in enumerate(ids):
        if is_missing(id):
            raise UserError(f"{name}: the id of text {row} is {id!r}; give every text one.")


def _check_whole(strings: Sequence[str], what: str) -> None:
    """Refuse lone surrogates now: they cannot be written to a file when the labels are saved."""
    for row, string in enumerate(strings):
        try:
            string.encode()
        except UnicodeEncodeError as error:
            raise UserError(
                f"{what} {row} holds U+{ord(string[error.start]):04X}, half a character (a lone surrogate); correct it "
                "or leave it out."
            ) from error


def _check_asked(names: Sequence[str], found: Iterable[str | None], where: str) -> None:
    """Refuse classes that are probably misspelt, as for files; see `choose_classes`."""
    there = sort_names(label for label in found if label is not None)
    absent, left_out = [name for name in names if name not in there], set(there) - set(names)
    if absent and left_out:
        raise UserError(
            f"{where}: no text has the class '{absent[0]}' of `classes`; those found are {', '.join(there)}.",
            field="classes",
        )


def kind_of(values: Sequence[Any], gaps: bool = False) -> type:
    """Return the common type of the values; str if they differ or the type is not in `KINDS`.

    Args:
        values: Ids or classes as they were given.
        gaps: Whether some were missing. A column of integers with missing values holds floats, so whole floats count as
            integers.

    Returns:
        One of `KINDS`, or `str`.

    Example:
        >>> kind_of([0.0, 1.0]), kind_of([0.0, 1.0], gaps=True), kind_of([1, "a"])
        (<class 'float'>, <class 'int'>, <class 'str'>)
    """
    plain = [value.item() if isinstance(value, np.generic) else to_python_scalar(value) for value in values]
    if gaps and plain and all(isinstance(value, float) and value.is_integer() for value in plain):
        return int
    return next((kind for kind in KINDS if plain and all(type(value) is kind for value in plain)), str)


def _sorted(values: Iterable[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:  # of several types
        return sorted(values, key=str)


def _short(value: Any) -> str:
    return "empty" if isinstance(value, str) else f"{value!r:.40}, not a text"
