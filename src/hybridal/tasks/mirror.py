"""Load tasks from folders: `train.parquet`, `validation.parquet`, `test.parquet` and the names of the labels.

The columns are `text` and `label`, a label being a number from 0 (or null, or -1: unknown). If a text may have several
classes, the column is `labels`, with lists of their names (null: unknown). The names of all classes are a JSON list
in the metadata `label_names` of `train.parquet`, or under the key `label_names` in `labels.json`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hybridal.core.label_sets import LabelSets
from hybridal.core.outputs import UNKNOWN
from hybridal.errors import UserError
from hybridal.tasks.answers import names_of, number_labels
from hybridal.tasks.label_cells import as_sets
from hybridal.tasks.read import LabelColumn, read_rows
from hybridal.tasks.task import Split, Task

VARIABLE = "HYBRIDAL_DATA"


def same_name(name: str) -> str:
    """Normalise the case, hyphens and underscores of a name.

    >>> same_name("AG_News"), same_name("ag-news")
    ('agnews', 'agnews')
    """
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def mirrored() -> dict[str, Path]:
    """Return the task folders in the folder `HYBRIDAL_DATA`, by name.

    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, HYBRIDAL_DATA=""):
    ...     mirrored()
    {}
    """
    root = os.environ.get(VARIABLE)
    if not root:
        return {}
    if not Path(root).is_dir():
        raise UserError(f"{VARIABLE}: there is no folder {root}; correct the variable or unset it.")
    return {folder.name: folder for folder in sorted(Path(root).iterdir()) if is_task_folder(folder)}


def is_task_folder(folder: Path) -> bool:
    """Return whether a folder has `train.parquet`.

    >>> is_task_folder(Path("no such folder"))
    False
    """
    return (folder / "train.parquet").is_file()


def find_mirrored(name: str) -> Path | None:
    """Return the folder of a task, ignoring case, hyphens and underscores; None if there is none.

    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, HYBRIDAL_DATA=""):
    ...     find_mirrored("agnews") is None
    True
    """
    return next((folder for other, folder in mirrored().items() if same_name(other) == same_name(name)), None)


def load_folder(folder: Path, name: str | None = None) -> Task:
    """Load the task of a folder. Ids are split and row, such as `train-17`.

    >>> import pyarrow, pyarrow.parquet, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> table = pyarrow.table({"text": ["Hello", "WIN"], "label": [0, 1]})
    >>> for split in ("train", "validation", "test"):
    ...     pyarrow.parquet.write_table(table, folder / f"{split}.parquet")
    >>> _ = (folder / "labels.json").write_text('{"label_names": ["ham", "spam"]}')
    >>> task = load_folder(folder, "mail")
    >>> task.name, task.classes, task.train.ids
    ('mail', ('ham', 'spam'), ['train-1', 'train-2'])
    """
    classes = _label_names(folder)
    if "label" not in (columns := _columns(folder)) and "labels" in columns:
        sets = LabelSets(len(classes))
        several = [_split_of_sets(folder, part, classes, sets) for part in ("train", "validation", "test")]
        return Task(name or folder.name, tuple(classes), *several, label_sets=sets)
    splits = [_split(folder, part, classes) for part in ("train", "validation", "test")]
    return Task(name or folder.name, tuple(classes), *splits)


def _columns(folder: Path) -> list[str]:
    import pyarrow.parquet

    return list(pyarrow.parquet.read_schema(folder / "train.parquet").names)


def _split_of_sets(folder: Path, part: str, classes: Sequence[str], sets: LabelSets) -> Split:
    rows = read_rows(folder / f"{part}.parquet", "text", LabelColumn("labels"))
    known = set(classes)
    for row, answer in enumerate(rows.labels):
        for name in names_of([answer]):
            if name not in known:
                raise UserError(
                    f"{rows.table.at(row)}, column 'labels': '{name}' is not one of the label names; correct either."
                )
    _, labels = number_labels(as_sets(rows.labels), classes, sets)
    return Split([f"{part}-{id}" for id in rows.ids], rows.texts, labels)


def _split(folder: Path, part: str, classes: Sequence[str]) -> Split:
    rows = read_rows(folder / f"{part}.parquet", "text", "label")
    number: dict[str | None, int] = {None: UNKNOWN, str(UNKNOWN): UNKNOWN}
    number |= {str(i): i for i in range(len(classes))}
    for row, label in enumerate(rows.class_names):
        if label not in number:
            raise UserError(
                f"{rows.table.at(row)}, column 'label': '{label}' is not a number from 0 to {len(classes) - 1}; "
                "correct it, or the label names."
            )
    labels = np.array([number[label] for label in rows.class_names], dtype=np.int64)
    return Split([f"{part}-{id}" for id in rows.ids], rows.texts, labels)


def _label_names(folder: Path) -> list[str]:
    import pyarrow
    import pyarrow.parquet

    source, label_file = folder / "train.parquet", folder / "labels.json"
    try:
        written = (pyarrow.parquet.read_schema(source).metadata or {}).get(b"label_names")
        names = json.loads(
            written if written is not None else json.dumps(json.loads(label_file.read_bytes())["label_names"])
        )
    except (OSError, ValueError, KeyError, TypeError, pyarrow.ArrowException) as error:
        raise UserError(
            f"{folder}: the label names cannot be read ({error}); write a list 'label_names' into {label_file.name}."
        ) from error
    if not (isinstance(names, list) and len(names) > 1 and all(isinstance(name, str) for name in names)):
        raise UserError(f"{folder}: the label names must be a list of two strings or more; correct {label_file.name}.")
    return names
