"""The model in the archive of a project: the run folders of its chapters, its queue and its predictions.

The part has JSON, CSV and safetensors, and no pickle or Parquet: the texts of the run follow from the table of texts,
and their ids are in `task.json`. `manifest.json` comes last, with the hash of each file.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from sqlalchemy import Column, MetaData, String, Table, select
from sqlalchemy.orm import Session

from hybridal import __version__
from hybridal.app import project_settings
from hybridal.app.db.schema import Base, Trainer
from hybridal.app.exchange.archive_tables import ROWS_PER_CHUNK, columns_of, json_line, plain
from hybridal.app.exchange.table_files import PART_BYTES
from hybridal.app.project import CHAPTER_FILE, Project, chapter_folders
from hybridal.app.vectors import StoredVectors
from hybridal.backbones.fingerprint import encoder_fingerprint
from hybridal.errors import UserError
from hybridal.runs.record import RunFolder
from hybridal.sentences import translatable
from hybridal.system.files import strict_json

FOLDER = "model"
MANIFEST, TASK, LABELS = "manifest.json", "task.json", "labels.csv"
VALUES = np.dtype("<f4")  # of probabilities
ATTEMPTS, PAUSE = 20, 0.25  # until files and database are of one moment; a trainer saves for a fraction of a second


def _predictions() -> Table:
    """The table of predictions with all probabilities of a text, which are in a file of their own in the project."""
    table = Base.metadata.tables["predictions"].to_metadata(MetaData())
    table.append_column(Column("probabilities", String, nullable=False))
    return table


PREDICTIONS = _predictions()
QUEUE = Base.metadata.tables["queued_texts"]
MODEL_TABLES = (PREDICTIONS, QUEUE)


@dataclass(frozen=True)
class ModelFiles:
    """The files of a project's chapters, opened together.

    A checkpoint is replaced by the next one and records are only appended, so an open file of known size never changes.

    Attributes:
        folder: The name of the folder that has the model.
        encoder: The fingerprint of its encoder; None if the name says which it is.
        documents: Files that are written for the archive, by their name in it.
        opened: The open files by their name in the archive.
        sizes: Their sizes when they were opened.
    """

    folder: str
    encoder: str | None
    documents: Mapping[str, bytes]
    opened: Mapping[str, BinaryIO]
    sizes: Mapping[str, int]


@contextmanager
def snapshot_with_model(project: Project, with_model: bool) -> Iterator[tuple[Session, ModelFiles | None]]:
    """Yield a snapshot of the database, and the model as of the same moment; None if there is none.

    Files and database of one moment are what a killed trainer leaves, and it continues from them exactly.
    """
    with ExitStack() as kept:
        session, model = _of_one_moment(project, kept) if with_model else (kept.enter_context(project.reads()), None)
        yield session, model


def _of_one_moment(project: Project, kept: ExitStack) -> tuple[Session, ModelFiles | None]:
    for _ in range(ATTEMPTS):
        with ExitStack() as opened, suppress(FileNotFoundError):  # a file is replaced between listing and opening
            listed = _listed(project.runs)
            model = _opened(listed, opened)
            session = opened.enter_context(project.reads())
            project_settings.read(session)  # the snapshot is of the time of the first statement
            if _listed(project.runs) == listed:
                kept.enter_context(opened.pop_all())
                return session, model
        time.sleep(PAUSE)
    raise UserError(
        translatable(
            "The model is being saved all the time; export the project again in a minute, or without its model."
        )
    )


def _listed(runs: Path) -> dict[str, tuple[Path, int, int, int]]:
    """The files to export by their name in the archive, each with what changes when it is written; empty if none."""
    folders = chapter_folders(runs)
    checkpoints = sorted((folders[-1] / "checkpoint").glob("round-*.safetensors")) if folders else []
    if not checkpoints:
        return {}
    whole = [folder for folder in folders if (folder / "run.json").is_file()]
    paths = [folder / name for folder in whole for name in ("run.json", "rounds.jsonl")]
    paths += [folders[-1] / CHAPTER_FILE, folders[-1] / LABELS, checkpoints[-1]]
    states = {path: path.stat() for path in paths}
    return {
        path.relative_to(runs).as_posix(): (path, state.st_ino, state.st_size, state.st_mtime_ns)
        for path, state in states.items()
    }


def _opened(listed: Mapping[str, tuple[Path, int, int, int]], opened: ExitStack) -> ModelFiles | None:
    if not listed:
        return None
    runs = {name: path.parent for name, (path, *_) in listed.items() if name.endswith("/run.json")}
    newest = [*runs.values()][-1]
    documents = {name: _about(folder) for name, folder in runs.items()}
    documents[f"{newest.name}/{TASK}"] = strict_json(_task(newest / "task")).encode()
    files = {name: opened.enter_context(path.open("rb")) for name, (path, *_) in listed.items() if name not in runs}
    encoder = encoder_fingerprint(RunFolder.open(newest).settings().backbone)
    return ModelFiles(newest.name, encoder, documents, files, {name: size for name, (_, _, size, _) in listed.items()})


def _about(folder: Path) -> bytes:
    """The content of `run.json`, with the protocol as recorded: its defaults may have changed since the run began."""
    run = RunFolder.open(folder)
    return strict_json({**run.about(), "settings": run.settings().to_json()}).encode()


def _task(folder: Path) -> dict[str, Any]:
    """The task of a run with the ids of its texts, which are themselves in the table of texts."""
    from pyarrow import parquet

    about: dict[str, Any] = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    for split in ("train", "validation"):
        about[split] = parquet.read_table(folder / f"{split}.parquet", columns=["id"])["id"].to_pylist()
    return about


def model_members(archive: zipfile.ZipFile, project: Project, session: Session, files: ModelFiles) -> Iterator[None]:
    """Write the model to an archive; yield after each part."""
    hashes: dict[str, str] = {}
    stored = project.probabilities.read()
    for name, parts in _members(files, session, stored):
        entry, digest = zipfile.ZipInfo(f"{FOLDER}/{name}"), hashlib.sha256()
        # Weights hardly get smaller.
        entry.compress_type = zipfile.ZIP_STORED if name.endswith(".safetensors") else zipfile.ZIP_DEFLATED
        with archive.open(entry, "w", force_zip64=True) as target:
            for part in parts:
                target.write(part)
                digest.update(part)
                yield
        hashes[name] = digest.hexdigest()
    trainer = session.get_one(Trainer, 1)
    about = {
        "hybridal": __version__,
        "files": hashes,
        "chapter": files.folder,
        "encoder": files.encoder,
        "round": trainer.round,
        "learnt_annotation": trainer.learnt_annotation,
        "probabilities": [] if stored is None else stored.about["classes"],
    }
    archive.writestr(f"{FOLDER}/{MANIFEST}", strict_json(about, indent=2))
    yield


def _members(
    files: ModelFiles, session: Session, stored: StoredVectors | None
) -> Iterator[tuple[str, Iterable[bytes]]]:
    """The files of the model by name, each in parts."""
    yield f"{PREDICTIONS.name}.jsonl", _prediction_lines(session, stored)
    yield f"{QUEUE.name}.jsonl", _queue_lines(session)
    for name, document in files.documents.items():
        yield name, [document]
    for name, file in files.opened.items():
        yield name, _parts(file, files.sizes[name])


def _parts(file: BinaryIO, size: int) -> Iterator[bytes]:
    while size > 0 and (part := file.read(min(size, PART_BYTES))):
        size -= len(part)
        yield part


def _queue_lines(session: Session) -> Iterator[bytes]:
    columns = columns_of(QUEUE)
    yield json_line([column.name for column in columns])
    for row in session.execute(select(*columns).order_by(QUEUE.c.rank)):
        yield json_line([*row])


def _prediction_lines(session: Session, stored: StoredVectors | None) -> Iterator[bytes]:
    """Predictions with their probabilities. One that a newer model replaces at this moment is left out: it is old."""
    table = Base.metadata.tables[PREDICTIONS.name]
    columns = columns_of(table)
    yield json_line([column.name for column in columns_of(PREDICTIONS)])
    if stored is None:
        return
    rows = session.connection().execute(
        select(*columns).order_by(table.c.text_row), execution_options={"yield_per": ROWS_PER_CHUNK}
    )
    for chunk in rows.partitions():
        known = [row for row in chunk if row.text_row < len(stored.stamps)]
        kept = [row for row in known if stored.stamps[row.text_row] == row.round + 1]
        values = stored.values[[row.text_row for row in kept]].astype(VALUES)
        yield b"".join(
            json_line([*map(plain, row), base64.b64encode(some.tobytes()).decode()])
            for row, some in zip(kept, values, strict=True)
        )
