"""Make tasks from lists and DataFrames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridal.core.label_sets import LabelSets
from hybridal.core.task_source import check_labels, indicator_columns
from hybridal.errors import UserError
from hybridal.tasks.answers import Answer, Decisions, names_of, number_labels
from hybridal.tasks.class_name_checks import check_classes, check_name_lengths
from hybridal.tasks.class_names import note_joined_names, note_lookalikes, refuse_measurements, sort_names
from hybridal.tasks.columns import check_different
from hybridal.tasks.label_cells import as_sets, has_several, read_cell, read_indicators
from hybridal.tasks.label_values import is_missing, label_text, to_python_scalar
from hybridal.tasks.read import visible
from hybridal.tasks.single import ONE_LABEL, ONE_TEXT, is_several, why_unusable
from hybridal.tasks.splits import hold_out
from hybridal.tasks.task import Split, Task

if TYPE_CHECKING:
    import pandas as pd

ONE_COLUMN = "name one, or indicator columns, one per class, with `labels`."
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
    multi_label: bool | None = None,
    label_separator: str | None = None,
) -> Task:
    """Make a task from texts with labels for all, some or none of them.

    Texts, labels and ids are lists, arrays or columns of a frame. A missing label is None, NaN or ""; without any
    labels, `classes` is required. Ids default to row numbers. Validation and test are drawn as for files (see
    `load_files`).

    If a label is a list or a set, a text may have several classes, or none: an empty list. A dict of booleans decides
    some of the classes, and the others are unknown. A text may also have several if
    `label_separator` names what stands between the classes in a string, or if the labels are a two-dimensional array of
    0 and 1, whose columns are `classes`. `multi_label` decides instead, for example while no text has a label.

    >>> task = from_texts(["good", "bad", "fine"] * 20, [1, 0, None] * 20, test_size=0, validation_size=0)
    >>> task.classes, task.train.ids[:2], task.label(1), task.id("2")
    (('0', '1'), ['0', '1'], 1, 2)
    >>> task = from_texts(["a goal", "a meal", "hello"] * 20, [{"sport"}, ["food", "fun"], []] * 20, test_size=0)
    >>> task.classes, task.multi_label
    (('food', 'fun', 'sport'), True)
    """
    if getattr(labels, "ndim", 1) == 2:
        classes = _matrix_classes(labels, classes)
        check_labels(tuple(classes), multi_label, label_separator)
        labels, multi_label = _from_indicators(labels, classes, f"{name}: labels"), True
    check_labels(None, multi_label, label_separator)
    whole, types = split_of(
        texts, labels, ids, classes, name, may_differ=False, multi_label=multi_label, separator=label_separator
    )
    sizes = {"validation": validation_size, "test": test_size}
    parts = hold_out(name, {"train": whole}, sizes, split_seed, label_sets=types["label_sets"])
    return Task(name, types.pop("classes"), *parts, **types)


def from_pandas(
    frame: Any,
    text: str = "text",
    label: str | None = None,
    id: str | None = None,
    *,
    labels: Sequence[str] | None = None,
    classes: Iterable[Any] | None = None,
    name: str = "frame",
    validation_size: int | float | None = None,
    test_size: int | float | None = None,
    split_seed: int = 42,
    multi_label: bool | None = None,
    label_separator: str | None = None,
) -> Task:
    """Make a task from a pandas or Polars DataFrame or an Arrow table; ids are its index unless `id` names a column.

    `label` is a column of labels; cells with several are as in `from_texts`. `labels` are indicator columns instead,
    one per class, of 0 and 1. A row of missing values is unknown, a row of 0 is none of the classes.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"body": ["good", "bad"] * 20, "kind": ["+", "-"] * 20})
    >>> from_pandas(frame, text="body", label="kind", test_size=0).classes
    ('+', '-')
    >>> frame = pd.DataFrame({"text": ["a goal", "a meal"] * 20, "sport": [1, 0] * 20, "food": [0, 1] * 20})
    >>> from_pandas(frame, labels=["sport", "food"], test_size=0).classes
    ('sport', 'food')
    """
    frame = _as_pandas(frame)
    named: list[tuple[str, Any, str]] = [("text", text, ONE_TEXT), ("label", label, ONE_COLUMN)]
    for what, asked, one in named:
        if isinstance(asked, list | set):  # a tuple may name a column of several levels
            raise UserError(f"`{what}` names {len(asked)} columns; {one}", field=what)
    indicators = () if labels is None else indicator_columns(labels, label)
    for column in (label, *indicators):
        check_different(text, column, id)
    for column in (text, label, id, *indicators):
        if column is not None and column not in frame.columns:
            there = ", ".join(map(str, frame.columns))
            raise UserError(f"The frame has no column '{column}'; it has {there}.")
        if column is not None and (several := list(frame.columns).count(column)) > 1:
            raise UserError(f"The frame has {several} columns '{column}'; rename all but one.")
    if label is None and labels is None and classes is None:
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
    answers = None if label is None else frame[label]
    if indicators:
        check_labels(indicators, multi_label, label_separator)
        answers = _from_indicators(frame[[*indicators]].to_numpy(dtype=object), indicators, name)
        classes, multi_label = indicators if classes is None else classes, True
    return from_texts(
        frame[text],
        answers,
        ids=frame.index if id is None else frame[id],
        classes=classes,
        name=name,
        validation_size=validation_size,
        test_size=test_size,
        split_seed=split_seed,
        multi_label=multi_label,
        label_separator=label_separator,
    )


def _matrix_classes(labels: Any, classes: Iterable[Any] | None) -> list[Any]:
    columns = labels.shape[1]
    if classes is None:
        raise UserError(
            f"The labels have {columns} columns; name the class of each, in their order, with `classes`.",
            field="classes",
        )
    named = class_list(classes)
    if len(named) != columns:
        raise UserError(f"The labels have {columns} columns, and `classes` names {len(named)}.", field="classes")
    return named


def _from_indicators(rows: Any, classes: Sequence[Any], where: str) -> list[frozenset[str] | None]:
    names = [label_text(name) for name in classes]
    return [
        read_indicators(dict(zip(names, values, strict=True)), f"{where}, row {row}")
        for row, values in enumerate(rows.tolist())
    ]


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
    texts: Any,
    labels: Any,
    ids: Any,
    classes: Any,
    name: str,
    may_differ: bool,
    multi_label: bool | None = None,
    separator: str | None = None,
    label_sets: LabelSets | None = None,
) -> tuple[Split, dict[str, Any]]:
    """Return all rows as a split, with the class names, the sets of classes, and the types of ids and labels.

    Args:
        texts: The texts.
        labels: Their labels, or None.
        ids: Their ids, or None for row numbers.
        classes: Class names, or None to use the labels.
        name: Name of the data, for error messages.
        may_differ: Allow classes without texts and texts of other classes, as in one of several splits.
        multi_label: Whether a text may have several classes; None if the labels tell.
        separator: What stands between the classes of a string.
        label_sets: The sets of another split.
    """
    texts = as_list(texts, "texts" if name == "texts" else f"{name}: texts", ONE_TEXT)
    labels = [None] * len(texts) if labels is None else _listed(labels, f"{name}: labels")
    ids = list(range(len(texts))) if ids is None else as_list(ids, f"{name}: ids")
    for what, values in (("labels", labels), ("ids", ids)):
        if len(values) != len(texts):
            there = f"the number of {what} is {len(values)}, that of texts {len(texts)}"
            raise UserError(f"{name}: {there}; give one for each text.")
    if not texts and not may_differ:
        raise UserError(f"{name}: there are no texts; give some.")
    _check_texts(texts, ids, name)
    answers, given = _answers(labels, f"{name}: labels", multi_label, separator)
    several = has_several(answers, multi_label, name)
    found: Sequence[Answer | None] = as_sets(answers) if several else answers
    known = names_of(found)
    check_name_lengths(f"{name}: a label", known)
    named = classes is not None
    if not named:
        refuse_measurements(name, known)
        # Compare names: the values True and 1 are equal.
        classes = _sorted({key: given.get(key, key) for key in known}.values())
        if not classes:
            raise UserError(f"{name}: no text has a label; name the classes.")
    else:
        classes = class_list(classes)
    names = tuple("" if is_missing(one) else label_text(one) for one in classes)
    check_classes(names)
    if not may_differ:
        _check_asked(names, known, name)
        note_lookalikes(name, known, names if named else ())
        note_joined_names(name, known, names if named else ())
    sets = (label_sets or LabelSets(len(names))) if several else None
    keep, numbers = number_labels(found, names, sets)
    keys = [label_text(ids[row]) for row in keep]
    if len(set(keys)) < len(keys):
        twice, _ = Counter(keys).most_common(1)[0]
        raise UserError(f"{name}: the id '{twice:.40}' occurs twice; make ids unique.")
    for what, strings in (("text", texts), ("id", keys), ("class", names)):
        _check_whole(strings, f"{name}: {what}")
    gaps = any(label is None for label in found)
    kinds = {"classes": names, "id_type": kind_of(ids), "label_type": kind_of(classes, gaps), "label_sets": sets}
    return Split(keys, [texts[row] for row in keep], numbers), kinds


def as_list(values: Any, what: str, one: str = "") -> list[Any]:
    """Convert a column to a list; refuse strings, mappings, and items that are not one value.

    Args:
        values: A list, a column or a one-dimensional array.
        what: Name of the values, for error messages.
        one: Refuse tuples too, with this sentence.
    """
    listed = _listed(values, what)
    for row, value in enumerate(listed):
        if is_several(value) and (one or not isinstance(value, tuple)):
            raise UserError(f"{what}: number {row} is {value!r:.40}; {one or 'each must be one value.'}")
        if wrong := why_unusable(value):
            raise UserError(f"{what}: number {row} is {value!r:.40}{wrong}.")
    return listed


def _listed(values: Any, what: str) -> list[Any]:
    if isinstance(values, str | bytes | Mapping | set | frozenset) or not isinstance(values, Iterable):
        raise UserError(f"{what} must be a list, a column or a one-dimensional array, not {values!r:.40}.")
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _answers(
    labels: Sequence[Any], what: str, multi_label: bool | None, separator: str | None
) -> tuple[list[Answer | None], dict[str, Any]]:
    """Return the labels by name, None where they are missing, and the classes as they were given, by name."""
    answers: list[Answer | None] = []
    given: dict[str, Any] = {}
    for row, label in enumerate(labels):
        if isinstance(label, Mapping):
            answers.append(_decisions(label, f"{what}: number {row}", multi_label))
            given |= {label_text(item): item for item in label}
            continue
        if is_several(label):
            items = _items(label, f"{what}: number {row}", multi_label)
            answers.append(frozenset(map(label_text, items)))
            given |= {label_text(item): item for item in items}
            continue
        if wrong := why_unusable(label):
            raise UserError(f"{what}: number {row} is {label!r:.40}{wrong}.")
        name = "" if is_missing(label) else label_text(label)
        if not name.strip():
            answers.append(None)
        elif separator is not None:
            answers.append(read_cell(name.strip(), separator))
        else:
            answers.append(name)
            given[name] = label
    return answers, given


def _items(label: Any, where: str, multi_label: bool | None) -> list[Any]:
    """Return the classes of one text."""
    if multi_label is False:
        raise UserError(f"{where} is {label!r:.40}; {ONE_LABEL}")
    items = list(label.tolist() if isinstance(label, np.ndarray) else label)
    for item in items:
        if is_several(item) or is_missing(item) or why_unusable(item) or not label_text(item).strip():
            raise UserError(f"{where} is {label!r:.40}, in which {item!r:.20} is not a class; give a list of classes.")
    return items


def _decisions(label: Mapping[Any, Any], where: str, multi_label: bool | None) -> Decisions:
    """Return the decisions on some of the classes of one text."""
    if multi_label is False:
        raise UserError(f"{where} is {label!r:.40}; {ONE_LABEL}")
    if not label or not all(isinstance(has, bool | np.bool_) for has in label.values()):
        raise UserError(f"{where} is {label!r:.40}; give a list of classes, or True or False for some of them.")
    _items([*label], where, multi_label)
    return Decisions.of({label_text(name): bool(has) for name, has in label.items()})


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
