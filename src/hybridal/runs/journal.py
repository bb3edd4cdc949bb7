"""An append-only file of facts, one strict JSON object a line."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hybridal.errors import RunError
from hybridal.system.files import strict_json, sync, sync_folder

# Windows would write other ends of lines.
_AS_IT_IS = getattr(os, "O_BINARY", 0)


class Journal:
    """Each line is written whole or not at all; a last line that was cut off by a crash does not count.

    >>> import tempfile
    >>> journal = Journal(Path(tempfile.mkdtemp()) / "facts.jsonl")
    >>> journal.append({"round": 1})
    >>> journal.read()
    [{'round': 1}]
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[dict[str, Any]]:
        """All whole lines."""
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().split(b"\n")[:-1]
        facts = []
        for number, line in enumerate(lines, start=1):
            try:
                fact = json.loads(line)
                if not isinstance(fact, dict):
                    raise ValueError("not an object")
            except ValueError as error:
                raise RunError(
                    f"Line {number} of {self.path} is not JSON: something else has written there; "
                    "restore the file from a backup, or delete that line and all after it."
                ) from error
            facts.append(fact)
        return facts

    def append(self, fact: Mapping[str, Any]) -> None:
        """Writes one line durably; when that fails, the file is as it was."""
        line = (strict_json(fact) + "\n").encode()
        new = not self.path.exists()
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _AS_IT_IS, 0o644)
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
        """The size of the file without a last line that was cut off."""
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
