"""Save and load the task of a run folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hybridal.core.label_sets import LabelSets
from hybridal.errors import UserError
from hybridal.system.files import folder_made_whole, strict_json
from hybridal.tasks.task import Split, Task

TYPES: dict[str, type] = {kind.__name__: kind for kind in (str, bool, int, float)}


def save_task(task: Task, folder: Path) -> None:
    """Write the task atomically, as `task.json` and one Parquet file per split."""
    import pyarrow as pa
    from pyarrow import parquet

    with folder_made_whole(folder) as scratch:
        kinds = {"ids": task.id_type.__name__, "labels": task.label_type.__name__}
        about: dict[str, Any] = {"name": task.name, "classes": task.classes, "descriptions": task.descriptions, **kinds}
        if task.label_sets is not None:
            about["label_sets"] = task.label_sets.sets
        (scratch / "task.json").write_text(strict_json(about), encoding="utf-8")
        for name, split in task.splits():
            labels = pa.Array.from_buffers(pa.int64(), len(split), [None, pa.py_buffer(split.labels.astype(np.int64))])
            table = pa.table({"id": _strings(split.ids), "text": _strings(split.texts), "label": labels})
            parquet.write_table(table, scratch / f"{name}.parquet", compression="zstd")


def load_saved(folder: Path) -> Task:
    """Load the task that `save_task` wrote."""
    from pyarrow import parquet

    def split(name: str) -> Split:
        table = parquet.ParquetFile(folder / f"{name}.parquet").read()
        labels = np.array(table["label"].to_pylist(), dtype=np.int64)
        return Split(table["id"].to_pylist(), table["text"].to_pylist(), labels)

    try:
        about = json.loads((folder / "task.json").read_text(encoding="utf-8"))
        ids, labels = (TYPES[about.get(name, "str")] for name in ("ids", "labels"))
        parts = (split("train"), split("validation"), split("test"))
        task = Task(about["name"], tuple(about["classes"]), *parts, id_type=ids, label_type=labels)
        if "label_sets" in about:
            sets = LabelSets(len(task.classes))
            sets.translated(np.empty(0, dtype=np.int64), about["label_sets"])
            task = replace(task, label_sets=sets)
        return task.with_descriptions(about.get("descriptions", {}))
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"The texts in {folder} cannot be read ({error}); restore that folder from a backup."
        ) from error


def _strings(values: Sequence[str]) -> Any:
    """Build a string array without pyarrow's conversion of lists, which imports pandas."""
    import pyarrow as pa

    encoded = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return pa.LargeStringArray.from_buffers(len(encoded), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded)))
