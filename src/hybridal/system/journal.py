"""An append-only file with one JSON object per line."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hybridal.errors import RunError
from hybridal.system.files import strict_json, sync, sync_folder

# Windows would convert line feeds.
_BINARY = getattr(os, "O_BINARY", 0)


class Journal:
    """Writes each line completely or not at all; a last line that was cut off by a crash is ignored.

    >>> import tempfile
    >>> journal = Journal(Path(tempfile.mkdtemp()) / "records.jsonl")
    >>> journal.append({"round": 1})
    >>> journal.read()
    [{'round': 1}]
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[dict[str, Any]]:
        """Return the objects of all complete lines.

        Raises:
            RunError: If a line is not a JSON object.
        """
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().split(b"\n")[:-1]
        records = []
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise ValueError("not an object")
            except ValueError as error:
                raise RunError(
                    f"Line {number} of {self.path} is not JSON: something else has written there; "
                    "restore the file from a backup, or delete that line and all after it."
                ) from error
            records.append(record)
        return records

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one line durably; if that fails, restore the file.

        Raises:
            RunError: If the line could not be written.
        """
        line = (strict_json(record) + "\n").encode()
        new = not self.path.exists()
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY, 0o644)
            try:
                size = self._whole_lines(descriptor)
                os.ftruncate(descriptor, size)
                try:
                    _write_all(descriptor, line)
                    sync(descriptor)
                except OSError:
                    os.ftruncate(descriptor, size)
                    raise
            finally:
                os.close(descriptor)
            if new:
                sync_folder(self.path.parent)
        except OSError as error:
            raise RunError(
                f"{self.path} could not be written ({error.strerror}); what it held is safe. "
                "Make room or correct the permissions, then run `hybridal resume`."
            ) from error

    @staticmethod
    def _whole_lines(descriptor: int) -> int:
        """Return the size of the file without an incomplete last line."""
        size = os.fstat(descriptor).st_size
        while size:
            start = max(0, size - 65536)
            os.lseek(descriptor, start, os.SEEK_SET)
            block = os.read(descriptor, size - start)
            end = block.rfind(b"\n")
            if end >= 0:
                return start + end + 1
            size = start
        return 0


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
