"""Read the archive of a project, which may come from a stranger.

Nothing is unpacked under a name of the archive: only known files are read, and their sizes and values are checked.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO

from sqlalchemy import Table

from hybridal.app.exchange.archive_tables import (
    FORMAT,
    NOT_AN_EXPORT,
    OTHER_VERSION,
    VERSION,
    checked_value,
    columns_of,
    exported_tables,
    readable,
    revision,
)
from hybridal.app.exchange.model_export import FOLDER, MANIFEST
from hybridal.app.exchange.table_files import PART_BYTES
from hybridal.errors import UserError

MAX_BYTES = 4_000_000_000  # of all unpacked tables, and of the model
MAX_RATIO = 200  # of unpacked to packed bytes in large files; real projects have 5 to 20
ANY_RATIO_BYTES = 100_000_000  # up to here long texts that are almost the same may pack better
MAX_LINE = 4_000_000  # characters; a text has at most 100,000, its other columns 10,000 each
MAX_DOCUMENT = 100_000_000  # bytes of a JSON file of the model, which has the ids of all texts
MAX_ABOUT = 10_000_000  # bytes of the manifest, and of the settings of all chapters together
CHAPTER = r"[0-9]{3,9}"
_MODEL = re.compile(
    rf"{FOLDER}/(manifest\.json|(predictions|queued_texts)\.jsonl"
    rf"|{CHAPTER}/((run|chapter|task)\.json|rounds\.jsonl|labels\.csv|checkpoint/round-[0-9]{{5,9}}\.safetensors))"
)


class ProjectArchive:
    """An archive that was checked as far as possible without reading its tables.

    Attributes:
        name: The title of the project.
        has_model: Whether it has a model.
        model_bytes: The size of the model.
        done: How many bytes of the unpacked files were read.
    """

    def __init__(self, path: Path) -> None:
        """Open an archive.

        Args:
            path: The file, which may come from a stranger.

        Raises:
            UserError: It is not the export of a project, is damaged, or is of another version.
        """
        if not zipfile.is_zipfile(path):
            raise UserError(NOT_AN_EXPORT)
        with readable():
            self._zip = zipfile.ZipFile(path)
        try:
            with readable():
                self._check_entries(path.stat().st_size)
                about = json.loads(self._zip.read("project.json"))
            self._check_version(about)
        except BaseException:
            self._zip.close()
            raise
        self.name = str(about.get("name"))[:100]
        self.done = 0

    def close(self) -> None:
        """Close the file."""
        self._zip.close()

    @property
    def has_model(self) -> bool:
        return f"{FOLDER}/{MANIFEST}" in self._zip.namelist()

    @property
    def model_bytes(self) -> int:
        return sum(entry.file_size for entry in self._zip.infolist() if _is_of_model(entry.filename))

    @property
    def tables_bytes(self) -> int:
        """The size of the unpacked tables."""
        return sum(entry.file_size for entry in self._zip.infolist()) - self.model_bytes

    def model_files(self) -> list[str]:
        """The names of the files of the model, without their folder."""
        return [name.removeprefix(f"{FOLDER}/") for name in self._zip.namelist() if _is_of_model(name)]

    def document(self, name: str, most: int = MAX_DOCUMENT) -> Any:
        """Read a JSON file of the model that has at most this many bytes."""
        return next(self.documents([name], most))

    def documents(self, names: Sequence[str], most: int) -> Iterator[Any]:
        """Read JSON files of the model that have at most this many bytes together."""
        if sum(self._zip.getinfo(f"{FOLDER}/{name}").file_size for name in names) > most:
            raise ValueError(f"{names[0]} is too large")
        for name in names:
            yield json.loads(self._zip.read(f"{FOLDER}/{name}"))

    def hash_of(self, name: str) -> str:
        """The SHA-256 hash of a file of the model."""
        with self._zip.open(f"{FOLDER}/{name}") as entry:
            return hashlib.file_digest(entry, "sha256").hexdigest()  # type: ignore[arg-type]

    def copy(self, name: str, target: BinaryIO) -> None:
        """Copy a file of the model."""
        with self._zip.open(f"{FOLDER}/{name}") as entry:
            while part := entry.read(PART_BYTES):
                target.write(part)
                self.done += len(part)

    def _check_entries(self, packed: int) -> None:
        entries = self._zip.infolist()
        names = [entry.filename for entry in entries]
        known = {"project.json", *(f"tables/{name}.jsonl" for name in exported_tables())}
        if "project.json" not in names:
            raise UserError(NOT_AN_EXPORT)
        unknown = [name for name in names if name not in known and _MODEL.fullmatch(name) is None]
        if len(names) != len({*names}) or unknown:
            other = next(iter(unknown), "one file twice")
            raise UserError(f"The export contains '{other:.80}', which does not belong there; it was not imported.")
        for entry in entries:
            if entry.flag_bits & 1 or entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise UserError("The export is encrypted or packed in another way; it was not imported.")
        unpacked, about = max(self.tables_bytes, self.model_bytes), self._zip.getinfo("project.json").file_size
        if unpacked > min(MAX_BYTES, max(ANY_RATIO_BYTES, MAX_RATIO * packed)) or about > 100_000:
            raise UserError("The export would become too large when it is unpacked; it was not imported.")

    @staticmethod
    def _check_version(about: Any) -> None:
        if not isinstance(about, dict) or about.get("format") != FORMAT:
            raise UserError(NOT_AN_EXPORT)
        if (about.get("version"), about.get("tables")) != (VERSION, revision()):
            raise UserError(OTHER_VERSION)

    def rows(self, table: Table, folder: str = "tables") -> Iterator[dict[str, Any]]:
        """Read the rows of a table in a folder of the archive.

        Raises:
            UserError: They are not those of this table.
        """
        columns = columns_of(table)
        name, before = f"{folder}/{table.name}.jsonl", self.done
        if name not in self._zip.namelist():
            return
        with readable(), self._zip.open(name) as entry, TextIOWrapper(entry, "utf-8", newline="\n") as lines:
            if json.loads(lines.readline(MAX_LINE)) != [column.name for column in columns]:
                raise UserError(OTHER_VERSION)
            while line := lines.readline(MAX_LINE):
                values = json.loads(line)
                if not isinstance(values, list) or len(values) != len(columns):
                    raise ValueError(f"a row of {table.name}")
                self.done = before + entry.tell()
                yield {column.name: checked_value(value, column) for value, column in zip(values, columns, strict=True)}


def _is_of_model(name: str) -> bool:
    return name.startswith(f"{FOLDER}/")
