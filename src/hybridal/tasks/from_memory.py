"""Tasks out of what a program holds already: lists, a DataFrame, a dataset of Hugging Face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridal.core.outputs import UNKNOWN, Ints
from hybridal.errors import UserError
from hybridal.tasks.splits import divide
from hybridal.tasks.task import Split, Task, check_classes, spelt

if TYPE_CHECKING:
    import pandas as pd

# What ids and labels may be beside texts, and come back as.
KINDS: tuple[type, ...] = (bool, int, float)


def from_texts(
    texts: Sequence[str],
    labels: Sequence[Any] | None = None,
    *,
    ids: Sequence[Any] | None = None,
    classes: Sequence[Any] | None = None,
    name: str = "texts",
    validation_size: int | float | None = None,
    test_size: int | float | None = None,
    split_seed: int = 42,
) -> Task:
    """Texts with labels for all, some (None or NaN elsewhere) or none of them; then `classes` must be named.

    Ids default to row numbers. Validation and test are drawn as from a file (see `load_files`).

    >>> task = from_texts(["good", "bad", "fine"] * 20, [1, 0, None] * 20, test_size=0, validation_size=0)
    >>> task.classes, task.train.ids[:2], task.label(1), task.id("2")
    (('0', '1'), ['0', '1'], 1, 2)
    """
    whole, types = _split(texts, labels, ids, classes, name)
    names = types.pop("classes")
    drawn = divide(whole.labels, validation=validation_size, test=test_size, seed=split_seed)
    if not len(drawn.train):
        raise UserError(f"{name}: no text is left to learn from; hold fewer out for validation and test, or give more.")
    return Task(name, names, *(whole.take(rows) for rows in (drawn.train, drawn.validation, drawn.test)), **types)


def from_pandas(
    frame: pd.DataFrame,
    text: str = "text",
    label: str | None = None,
    id: str | None = None,
    *,
    classes: Sequence[Any] | None = None,
    name: str = "frame",
    validation_size: int | float | None = None,
    test_size: int | float | None = None,
    split_seed: int = 42,
) -> Task:
    """The rows of a DataFrame; ids are its index unless a column is named.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"body": ["good", "bad"] * 20, "kind": ["+", "-"] * 20})
    >>> from_pandas(frame, text="body", label="kind", test_size=0).classes
    ('+', '-')
    """
    for column in (text, label, id):
        if column is not None and column not in frame.columns:
            there = ", ".join(map(str, frame.columns))
            raise UserError(f"The frame has no column '{column}'; it has {there}.")
    return from_texts(
        frame[text].tolist(),
        None if label is None else frame[label].tolist(),
        ids=(frame.index if id is None else frame[id]).tolist(),
        classes=classes,
        name=name,
        validation_size=validation_size,
        test_size=test_size,
        split_seed=split_seed,
    )


def from_dataset(
    dataset: Any,
    text: str = "text",
    label: str | None = "label",
    id: str | None = None,
    *,
    classes: Sequence[Any] | None = None,
    name: str = "dataset",
    validation_size: int | float | None = None,
    test_size: int | float | None = None,
    split_seed: int = 42,
) -> Task:
    """A `Dataset` of Hugging Face, or a `DatasetDict` whose splits are kept as they are.

    Labels that are numbers with names (`ClassLabel`) get their names.
    """
    parts = dict(dataset) if isinstance(dataset, Mapping) else {"train": dataset}
    if "train" not in parts:
        raise UserError(f"The dataset has no split 'train'; it has {', '.join(parts)}.")
    feature = None if label is None else parts["train"].features.get(label)
    named = getattr(feature, "names", None)
    if classes is None and named:
        classes = named

    def columns(part: Any) -> tuple[list[str], list[Any] | None, list[Any] | None]:
        labels = None if label is None else list(part[label])
        if labels is not None and named:
            labels = [named[value] if value is not None and value >= 0 else None for value in labels]
        return list(part[text]), labels, None if id is None else list(part[id])

    if len(parts) == 1:
        texts, labels, ids = columns(parts["train"])
        sizes = {"validation_size": validation_size, "test_size": test_size}
        return from_texts(texts, labels, ids=ids, classes=classes, name=name, split_seed=split_seed, **sizes)
    splits: dict[str, Split] = {}
    types: dict[str, Any] = {}
    for part, rows in parts.items():
        texts, labels, ids = columns(rows)
        marked = [f"{part}-{row}" for row in range(len(texts))] if ids is None else ids
        splits[part], found = _split(texts, labels, marked, classes or types.get("classes"), f"{name}: {part}")
        types = types or found
    others = [splits.get(part, Split.empty()) for part in ("validation", "test")]
    return Task(name, types.pop("classes"), splits["train"], *others, **types)


def _split(
    texts: Sequence[str], labels: Sequence[Any] | None, ids: Sequence[Any] | None, classes: Any, name: str
) -> tuple[Split, dict[str, Any]]:
    """All rows, and what they were made of: the names of the classes, and the kinds of ids and labels."""
    ids = range(len(texts)) if ids is None else ids
    for what, values in (("labels", labels), ("ids", ids)):
        if values is not None and len(values) != len(texts):
            raise UserError(f"{name}: there are {len(texts)} texts and {len(values)} {what}; give one for each text.")
    for row, text in enumerate(texts):
        if not isinstance(text, str) or not text.strip():
            raise UserError(f"{name}: text {row} (id {ids[row]!r}) is {_short(text)}; leave it out or give it words.")
    known = [None if _missing(label) else label for label in labels or [None] * len(texts)]
    if classes is None:
        classes = _sorted({label for label in known if label is not None})
        if not classes:
            raise UserError(f"{name}: no text has a label; name the classes.")
    names = tuple(map(spelt, classes))
    check_classes(names)
    number = {name: i for i, name in enumerate(names)}
    keep = [row for row, label in enumerate(known) if label is None or spelt(label) in number]
    numbers: Ints = np.array([UNKNOWN if known[r] is None else number[spelt(known[r])] for r in keep], dtype=np.int64)
    found = [spelt(ids[row]) for row in keep]
    if len(set(found)) < len(found):
        twice = next(id for id in found if found.count(id) > 1)
        raise UserError(f"{name}: the id '{twice:.40}' occurs twice; make ids unique.")
    kinds = {"classes": names, "id_type": _kind(list(ids)), "label_type": _kind(list(classes))}
    return Split(found, [texts[row] for row in keep], numbers), kinds


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"


def _kind(values: Sequence[Any]) -> type:
    """The type that all values have, whole numbers where they are whole; texts where it is another or they differ."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    if plain and all(isinstance(value, float) and value.is_integer() for value in plain):
        return int
    return next((kind for kind in KINDS if plain and all(type(value) is kind for value in plain)), str)


def _sorted(values: set[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:  # of several types
        return sorted(values, key=str)


def _short(value: Any) -> str:
    return "empty" if isinstance(value, str) else f"{value!r:.40}, not a text"
