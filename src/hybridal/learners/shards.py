"""Predict a folder of Parquet files on a Ray cluster, one file per task."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybridal.errors import UserError
from hybridal.learners.pool_scoring import PoolFile, predicted_files, start_scorers
from hybridal.system.files import strict_json, write_whole
from hybridal.tasks.read import read_tables

NOTE = "predictions.json"


@dataclass(frozen=True)
class PoolPredictions:
    """A folder with one file of predictions per file of a pool; existing files are complete and are kept.

    Every machine of the cluster must see both folders under the same path.
    """

    model: Path
    pool: Path
    folder: Path
    text: str = "text"
    id: str | None = None
    drop_empty: bool = False

    def files(self) -> list[PoolFile]:
        """Return all files of the pool, after checking that each has the columns."""
        found = sorted(self.pool.rglob("*.parquet")) if self.pool.is_dir() else []
        if not found:
            raise UserError(f"{self.pool} is not a folder with Parquet files; with Ray, each file is one task.")
        if self.pool.resolve() in (self.folder.resolve(), *self.folder.resolve().parents):
            raise UserError(f"{self.folder} lies in the pool itself; name a folder outside of it.", field="out")
        columns = [name for name in (self.text, self.id) if name is not None]
        for source in found:
            next(read_tables(source, columns), None)
        folder = self.folder.resolve()
        targets = [folder / source.relative_to(self.pool) for source in found]
        options = (self.text, self.id, self.drop_empty)
        return [PoolFile(source.resolve(), target, *options) for source, target in zip(found, targets, strict=True)]

    def missing(self) -> list[PoolFile]:
        """Return the files that have no predictions yet."""
        return [file for file in self.files() if not file.target.exists()]

    def make(
        self,
        address: str = "local",
        device: str = "auto",
        workers: int | None = None,
        gpus_per_worker: float | None = None,
        tries: int = 3,
        progress: Callable[[int], None] = lambda _texts: None,
    ) -> None:
        """Predict the missing files. Each worker loads the model once and takes one file after the other.

        If a worker is lost, another one gets its file; after `tries` losses in a row without a finished file, a
        `RunError` is raised. `progress` is called with the number of texts of each file.
        """
        files = self.missing()
        self._agree()
        if not files:
            return
        for file in files:
            file.target.parent.mkdir(parents=True, exist_ok=True)
        with start_scorers(self.model, "predict_file", address, workers, device, gpus_per_worker) as scorers:
            for texts in predicted_files(scorers, files, tries):
                progress(texts)

    def _agree(self) -> None:
        """Record model and columns in the folder, and refuse to mix predictions of different ones."""
        made_with = {"model": _digest(self.model), "text": self.text, "id": self.id, "drop_empty": self.drop_empty}
        note = self.folder / NOTE
        if note.is_file() and json.loads(note.read_text(encoding="utf-8")) != made_with:
            raise UserError(
                f"{self.folder} holds predictions of another model or other columns; name another folder.", field="out"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(note, strict_json(made_with) + "\n")


def texts_in(files: Sequence[PoolFile]) -> int:
    """Return the number of rows, from the metadata of the files."""
    from pyarrow import parquet

    counts: list[Any] = [parquet.read_metadata(file.source).num_rows for file in files]
    return sum(counts)


def _digest(model: Path) -> str:
    found = hashlib.sha256()
    for file in sorted(path for path in model.rglob("*") if path.is_file()):
        with file.open("rb") as source:
            found.update(hashlib.file_digest(source, "sha256").digest())
    return found.hexdigest()
