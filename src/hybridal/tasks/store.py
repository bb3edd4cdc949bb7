"""A task inside a run folder: the same texts, ids and labels again, wherever the folder goes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from hybridal.errors import UserError
from hybridal.system.files import folder_made_whole, strict_json
from hybridal.tasks.task import Split, Task

TYPES: dict[str, type] = {kind.__name__: kind for kind in (str, bool, int, float)}


def save_task(task: Task, folder: Path) -> None:
    """Writes the task whole, as `task.json` and one parquet file a split."""
    import pyarrow as pa
    from pyarrow import parquet

    with folder_made_whole(folder) as scratch:
        about = {"name": task.name, "classes": task.classes, "ids": task.id_type.__name__}
        about["labels"] = task.label_type.__name__
        (scratch / "task.json").write_text(strict_json(about), encoding="utf-8")
        for name, split in task.splits():
            table = pa.table({"id": list(split.ids), "text": list(split.texts), "label": split.labels})
            parquet.write_table(table, scratch / f"{name}.parquet", compression="zstd")


def load_saved(folder: Path) -> Task:
    """The task that `save_task` wrote."""
    from pyarrow import parquet

    def split(name: str) -> Split:
        table = parquet.read_table(folder / f"{name}.parquet")
        labels = table["label"].to_numpy().astype(np.int64)
        return Split(table["id"].to_pylist(), table["text"].to_pylist(), labels)

    try:
        about = json.loads((folder / "task.json").read_text(encoding="utf-8"))
        ids, labels = (TYPES[about.get(name, "str")] for name in ("ids", "labels"))
        parts = (split("train"), split("validation"), split("test"))
        return Task(about["name"], tuple(about["classes"]), *parts, id_type=ids, label_type=labels)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(
            f"The texts in {folder} cannot be read ({error}); restore that folder from a backup."
        ) from error
