"""Predictions for a pool in Parquet files, each made by a worker of a Ray cluster: for pools beyond one machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybridal.errors import UserError
from hybridal.learners.pool_scoring import PoolFile, predicted_files, scorers
from hybridal.system.files import strict_json, write_whole
from hybridal.tasks.read import read_tables

ASKED = "predictions.json"


@dataclass(frozen=True)
class PoolPredictions:
    """A folder of predictions, a file for each of a pool's: those that are there are whole, and not made again.

    The pool and this folder lie where every machine of the cluster sees them under the same path.
    """

    model: Path
    pool: Path
    folder: Path
    text: str = "text"
    id: str | None = None
    drop_empty: bool = False

    def files(self) -> list[PoolFile]:
        """All files of the pool, once it is sure that each has the columns."""
        found = sorted(self.pool.rglob("*.parquet")) if self.pool.is_dir() else []
        if not found:
            raise UserError(f"{self.pool} is no folder with Parquet files; over Ray, every file is a worker's task.")
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
        """The files whose predictions are not there yet."""
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
        """Makes what is missing. Each worker loads the model once, and takes file after file.

        A file whose worker is lost goes to another; after `tries` losses in a row without a finished file it ends with
        an error. `progress` hears how many texts each file had.
        """
        files = self.missing()
        self._agree()
        if not files:
            return
        for file in files:
            file.target.parent.mkdir(parents=True, exist_ok=True)
        with scorers(self.model, "predict_file", address, workers, device, gpus_per_worker) as hired:
            for texts in predicted_files(hired, files, tries):
                progress(texts)

    def _agree(self) -> None:
        """Notes what the predictions are made of; those of another model would be mixed with them."""
        asked = {"model": _digest(self.model), "text": self.text, "id": self.id, "drop_empty": self.drop_empty}
        note = self.folder / ASKED
        if note.is_file() and json.loads(note.read_text(encoding="utf-8")) != asked:
            raise UserError(
                f"{self.folder} holds predictions of another model or other columns; name another folder.", field="out"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(note, strict_json(asked) + "\n")


def texts_in(files: Sequence[PoolFile]) -> int:
    """How many rows they have, as each says itself."""
    from pyarrow import parquet

    counts: list[Any] = [parquet.read_metadata(file.source).num_rows for file in files]
    return sum(counts)


def _digest(model: Path) -> str:
    found = hashlib.sha256()
    for file in sorted(path for path in model.rglob("*") if path.is_file()):
        with file.open("rb") as source:
            found.update(hashlib.file_digest(source, "sha256").digest())
    return found.hexdigest()
