"""The model folder as a ZIP file that is made while it is sent: no model is ever held in memory."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from hybridal.app.errors import MissingError
from hybridal.app.exchange.parts import PART

# ZIP knows no time before this one; a model's files have no other that matters.
_TIME = (1980, 1, 1, 0, 0, 0)


class Model:
    """The files of the newest model, all opened at once: one that replaces it meanwhile is not mixed in."""

    def __init__(self, exports: Path) -> None:
        folder = exports / "model"
        with ExitStack() as opened:
            try:
                paths = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
                files = {path.relative_to(folder): opened.enter_context(path.open("rb")) for path in paths}
            except OSError:
                files = {}
            if not files:
                raise MissingError("There is no model to take away yet; ask for predictions first (Score all texts).")
            self._files: dict[Path, BinaryIO] = dict(files)
            self._opened = opened.pop_all()

    def parts(self) -> Iterator[bytes]:
        """The ZIP file, uncompressed: weights hardly get smaller."""
        outlet = _Outlet()
        with self._opened, zipfile.ZipFile(outlet, "w", zipfile.ZIP_STORED) as archive:
            for name, file in self._files.items():
                entry = zipfile.ZipInfo(f"model/{name.as_posix()}", _TIME)
                entry.external_attr = 0o644 << 16
                with archive.open(entry, "w", force_zip64=True) as target:
                    while part := file.read(PART):
                        target.write(part)
                        yield outlet.take()
        yield outlet.take()


class _Outlet(io.RawIOBase):
    """Where a ZIP file is written to that cannot go back in it: what was written is taken from here."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        part = bytes(data)  # type: ignore[call-overload]
        self._parts.append(part)
        return len(part)

    def take(self) -> bytes:
        written = b"".join(self._parts)
        self._parts.clear()
        return written
