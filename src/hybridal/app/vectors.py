"""A vector per text in files, written by the trainer and read by the web process without torch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from hybridal.core.outputs import Floats
from hybridal.system.files import folder_made_whole, remove_folder, strict_json, sync

ABOUT, VALUES, STAMPS = "about.json", "values.bin", "stamps.bin"


class StoredVectors(NamedTuple):
    """Element i of `stamps` and `values` belongs to the text of row i; a stamp of 0 means that there is no vector."""

    about: Mapping[str, Any]
    stamps: NDArray[np.int64]
    values: Floats


class Vectors:
    """Vectors by the row of their text, each with a stamp that identifies what it was computed from.

    A vector is on disk before its stamp, so that a stamp never belongs to half a vector. `about` describes what all
    vectors have in common; if it changes, all of them are deleted.
    """

    def __init__(self, folder: Path, kind: DTypeLike) -> None:
        self.folder, self.kind = folder, np.dtype(kind)

    def begin(self, about: Mapping[str, Any], width: int) -> None:
        """Keep the stored vectors if they have this description, otherwise delete them."""
        wanted = {**about, "width": width}
        if self._about() == wanted:
            return
        remove_folder(self.folder)
        with folder_made_whole(self.folder) as scratch:
            (scratch / ABOUT).write_text(strict_json(wanted) + "\n", encoding="utf-8")
            for name in (VALUES, STAMPS):
                (scratch / name).touch()

    def write(self, rows: Sequence[int], values: Floats, stamps: Sequence[int]) -> None:
        """Replace the vectors of these rows."""
        _write(self.folder / VALUES, rows, np.ascontiguousarray(values, dtype=self.kind))
        _write(self.folder / STAMPS, rows, np.asarray(stamps, dtype=np.int64)[:, None])

    def read(self) -> StoredVectors | None:
        """Map all stored vectors into memory; None if there are none."""
        about = self._about()
        if about is None:
            return None
        path, width = self.folder / VALUES, about["width"]
        try:
            stamps = np.fromfile(self.folder / STAMPS, dtype=np.int64)
            n = min(len(stamps), path.stat().st_size // (width * self.kind.itemsize))
            values = np.memmap(path, dtype=self.kind, mode="r", shape=(n, width))
        except (OSError, ValueError):  # nothing was written yet, or all are being deleted
            return None
        return StoredVectors(about, stamps[:n], values) if about == self._about() else None

    def _about(self) -> dict[str, Any] | None:
        try:
            about: dict[str, Any] = json.loads((self.folder / ABOUT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return about


def stamp_of(digest: str) -> int:
    """Make the stamp of a text from its digest.

    >>> stamp_of("ff" * 16), stamp_of("00" * 16)
    (-1, 1)
    """
    return int.from_bytes(bytes.fromhex(digest[:16]), signed=True) or 1


def _write(path: Path, rows: Sequence[int], values: NDArray[Any]) -> None:
    size = values[:1].nbytes
    # Written through the file: a full disk under a memory map kills the process.
    with path.open("r+b") as file:
        for row, value in zip(rows, values, strict=True):
            file.seek(row * size)
            file.write(value.tobytes())
        file.flush()
        sync(file.fileno())
