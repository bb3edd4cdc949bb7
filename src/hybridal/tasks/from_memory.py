"""Tasks out of what a program holds already: lists, a DataFrame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridal.core.outputs import UNKNOWN, Ints
from hybridal.errors import UserError
from hybridal.tasks.splits import hold_out
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
    whole, types = split_of(texts, labels, ids, classes, name)
    sizes = {"validation": validation_size, "test": test_size}
    return Task(name, types.pop("classes"), *hold_out(name, {"train": whole}, sizes, split_seed), **types)


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


def split_of(
    texts: Sequence[str], labels: Sequence[Any] | None, ids: Sequence[Any] | None, classes: Any, name: str
) -> tuple[Split, dict[str, Any]]:
    """All rows, and what they were made of: the names of the classes, and the kinds of ids and labels."""
    ids = range(len(texts)) if ids is None else ids
    for what, values in (("labels", labels), ("ids", ids)):
        if values is not None and len(values) != len(texts):
            raise UserError(f"{name}: there are {len(texts)} texts and {len(values)} {what}; give one for each text.")
    wordless = [row for row, text in enumerate(texts) if not isinstance(text, str) or not text.strip()]
    if wordless:
        first, more = wordless[0], len(wordless) - 1
        others, them = (f", and {more} more have no words", "them") if more else ("", "it")
        said = f"text {first} (id {ids[first]!r}) is {_short(texts[first])}{others}"
        raise UserError(f"{name}: {said}; leave {them} out or give {them} words.")
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
        twice, _ = Counter(found).most_common(1)[0]
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
