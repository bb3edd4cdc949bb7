"""Make a task from a dataset of Hugging Face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybridal.core.task_source import check_labels, indicator_columns
from hybridal.errors import UserError
from hybridal.tasks.class_names import note_lookalikes
from hybridal.tasks.from_memory import split_of
from hybridal.tasks.label_cells import read_indicators
from hybridal.tasks.label_values import label_text
from hybridal.tasks.overlaps import note_overlaps
from hybridal.tasks.splits import hold_out
from hybridal.tasks.task import Split, Task


def from_dataset(
    dataset: Any,
    text: str = "text",
    label: str | None = "label",
    id: str | None = None,
    *,
    labels: Sequence[str] | None = None,
    train: str = "train",
    validation: str | None = None,
    test: str | None = None,
    classes: Sequence[Any] | None = None,
    name: str = "dataset",
    validation_size: int | float | None = None,
    test_size: int | float | None = None,
    split_seed: int = 42,
    multi_label: bool | None = None,
    label_separator: str | None = None,
) -> Task:
    """Make a task from a `Dataset`, or from a `DatasetDict`, whose splits are kept.

    The splits `train`, `validation` and `test` are used if they exist; name others as in `validation="dev"`. Missing
    splits are drawn from train, as for files (see `load_files`). Labels of type `ClassLabel` get their names, and -1 is
    unknown. Without an id column, ids are `train-17`, or row numbers if there is only one split. `label=None` ignores
    labels and requires `classes`.

    A text may have several classes if the labels are lists, of `ClassLabel` or of strings, if there is a
    `label_separator`, or if `labels` names indicator columns; see `Task.from_pandas`.

    >>> from datasets import ClassLabel, Dataset
    >>> rows = Dataset.from_dict({"text": ["good", "bad"] * 50, "label": [1, 0] * 50})
    >>> rows = rows.cast_column("label", ClassLabel(names=["neg", "pos"]))
    >>> task = from_dataset(rows.train_test_split(test_size=20, seed=1), validation_size=10)
    >>> task.classes, [len(split) for _, split in task.splits()], task.test.ids[0]
    (('neg', 'pos'), [70, 10, 20], 'test-0')
    """
    parts = _splits(dataset, name, {"train": train, "validation": validation, "test": test})
    columns = () if labels is None else indicator_columns(labels, None if label == "label" else label)
    label = None if columns else label
    check_labels(columns or None, multi_label, label_separator)
    names = None if label is None else getattr(_label_type(parts["train"], label, name), "names", None)
    if names is not None and classes is None:
        note_lookalikes(name, names, ())  # `ClassLabel` names are often generated from the values of the column
        classes = names
    classes = columns if columns and classes is None else classes
    found: dict[str, Split] = {}
    types: dict[str, Any] = {}
    for part, rows in parts.items():
        where = f"{name}, split '{part}'"
        texts, answers = _texts(rows, text, where), None if label is None else _labels(rows, label, where)
        if columns:
            answers = _from_indicators(rows, columns, where)
        ids = None if id is None else _column(rows, id, where, "id")
        if ids is None and len(parts) > 1:
            ids = [f"{part}-{row}" for row in range(len(texts))]
        if part != "train" and classes is None:
            _check_known(answers or [], types["classes"], f"{where}, column '{label}'")
        wanted, sets = types.get("classes", classes), types.get("label_sets")
        several = sets is not None if types else True if columns else multi_label
        found[part], kinds = split_of(
            texts, answers, ids, wanted, where, part != "train", several, label_separator, sets
        )
        types = types or kinds
    _check_ids(name, found)
    note_overlaps({f"split '{part}'": split.texts for part, split in found.items()}, lambda _, row: f"row {row}")
    sizes, given = {"validation": validation_size, "test": test_size}, {part: f"the split '{part}'" for part in parts}
    drawn = hold_out(name, found, sizes, split_seed, given, types["label_sets"])
    return Task(name, types.pop("classes"), *drawn, **types)


def _splits(dataset: Any, name: str, asked: Mapping[str, str | None]) -> dict[str, Any]:
    """The rows of train, and of validation and test where there are some."""
    there = dict(dataset) if isinstance(dataset, Mapping) else {asked["train"]: dataset}
    wanted = {part: split or part for part, split in asked.items()}
    for part, split in wanted.items():
        if split not in there and (part == "train" or asked[part] is not None):
            raise UserError(
                f"{name}: there is no split '{split}'; it has {', '.join(map(str, there)) or 'none'}: name one with "
                f"`{part}`.",
                field=part,
            )
    parts = {part: there[split] for part, split in wanted.items() if split in there}
    for rows in parts.values():
        if not hasattr(rows, "features"):
            raise UserError(
                f"{name}: a {type(rows).__name__} is no Dataset of Hugging Face; use Task.from_pandas for frames, and "
                "Task.from_texts for lists."
            )
    if not all(hasattr(rows, "__len__") for rows in parts.values()):
        raise UserError(f"{name}: the dataset is streamed, which has no end to draw from; load it without streaming.")
    return parts


def _feature(rows: Any, column: str, where: str, option: str) -> Any:
    if column not in rows.features:
        none = ", or leave labels out with `label=None`" if option == "label" else ""
        raise UserError(
            f"{where}: there is no column '{column}'; it has {', '.join(rows.features)}: name one with "
            f"`{option}`{none}.",
            field=option,
        )
    return rows.features[column]


def _column(rows: Any, column: str, where: str, option: str) -> list[Any]:
    _feature(rows, column, where, option)
    values: list[Any] = rows.with_format(None)[column][:]
    return values


def _texts(rows: Any, column: str, where: str) -> list[str]:
    kind = _feature(rows, column, where, "text")
    if getattr(kind, "dtype", None) not in ("string", "large_string"):
        raise UserError(
            f"{where}: the column '{column}' holds {kind}, not texts; name another with `text`.", field="text"
        )
    return _column(rows, column, where, "text")


def _label_type(rows: Any, column: str, where: str) -> Any:
    """The type of the labels; of a list, that of its items."""
    kind = _feature(rows, column, where, "label")
    return kind[0] if isinstance(kind, list) else getattr(kind, "feature", kind)


def _labels(rows: Any, column: str, where: str) -> list[Any]:
    """Labels by name where their numbers have names, and lists of them; None where they are unknown."""
    kind = _label_type(rows, column, where)
    names, values = getattr(kind, "names", None), _column(rows, column, where, "label")
    if names:

        def named(value: Any) -> Any:
            if isinstance(value, list):
                return [named(item) for item in value]
            return None if value is None or value < 0 else names[value]

        return [named(value) for value in values]
    if type(kind).__name__ != "Value":
        raise UserError(
            f"{where}: the column '{column}' holds {kind}; name one of labels, or of lists of them, with `label`.",
            field="label",
        )
    return values


def _from_indicators(rows: Any, columns: Sequence[str], where: str) -> list[frozenset[str] | None]:
    values = {column: _column(rows, column, where, "labels") for column in columns}
    return [
        read_indicators({column: values[column][row] for column in columns}, f"{where}, row {row}")
        for row in range(len(rows))
    ]


def _check_known(labels: Sequence[Any], classes: Sequence[str], where: str) -> None:
    for row, answer in enumerate(labels):
        for label in answer if isinstance(answer, list) else [answer]:
            if label is not None and label_text(label) not in classes:
                raise UserError(
                    f"{where}, row {row}: the label '{label}' does not occur in train, which has {', '.join(classes)}; "
                    "correct it, or name all classes with `classes`.",
                    field="classes",
                )


def _check_ids(name: str, splits: Mapping[str, Split]) -> None:
    seen: dict[str, str] = {}
    for part, split in splits.items():
        for id in split.ids:
            if id in seen:
                raise UserError(f"{name}: the id '{id:.40}' is in {seen[id]} and in {part}; make ids unique.")
        seen.update(dict.fromkeys(split.ids, part))
