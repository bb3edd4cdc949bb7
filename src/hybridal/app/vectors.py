"""Numbers for each text, written by the trainer and read by the web process without torch: files beside the runs."""

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


class Kept(NamedTuple):
    """What is there: place i of `stamps` and `values` belongs to the text of row i; none where the stamp is 0."""

    about: Mapping[str, Any]
    stamps: NDArray[np.int64]
    values: Floats


class Vectors:
    """A vector a text, found by the text's row, with a stamp that says what it was computed from.

    A vector is on disk before its stamp is written, so that a stamp never belongs to half of one. `about` says what
    all of them have in common; where that is other, they are thrown away together.
    """

    def __init__(self, folder: Path, kind: DTypeLike) -> None:
        self.folder, self.kind = folder, np.dtype(kind)

    def begin(self, about: Mapping[str, Any], width: int) -> None:
        """Makes sure that what is there, and what will be, is about this."""
        wanted = {**about, "width": width}
        if self._about() == wanted:
            return
        remove_folder(self.folder)
        with folder_made_whole(self.folder) as scratch:
            (scratch / ABOUT).write_text(strict_json(wanted) + "\n", encoding="utf-8")
            for name in (VALUES, STAMPS):
                (scratch / name).touch()

    def write(self, rows: Sequence[int], values: Floats, stamps: Sequence[int]) -> None:
        """Puts these in the place of what was said of these texts before."""
        _write(self.folder / VALUES, rows, np.ascontiguousarray(values, dtype=self.kind))
        _write(self.folder / STAMPS, rows, np.asarray(stamps, dtype=np.int64)[:, None])

    def read(self) -> Kept | None:
        """All that is there, mapped and not loaded; None while there is nothing."""
        about = self._about()
        if about is None:
            return None
        path, width = self.folder / VALUES, about["width"]
        try:
            stamps = np.fromfile(self.folder / STAMPS, dtype=np.int64)
            n = min(len(stamps), path.stat().st_size // (width * self.kind.itemsize))
            values = np.memmap(path, dtype=self.kind, mode="r", shape=(n, width))
        except (OSError, ValueError):  # nothing was written yet, or all is being thrown away
            return None
        return Kept(about, stamps[:n], values) if about == self._about() else None

    def _about(self) -> dict[str, Any] | None:
        try:
            said: dict[str, Any] = json.loads((self.folder / ABOUT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return said


def stamp_of(digest: str) -> int:
    """A stamp for what was computed from a text, by the text's digest.

    >>> stamp_of("ff" * 16), stamp_of("00" * 16)
    (-1, 1)
    """
    return int.from_bytes(bytes.fromhex(digest[:16]), signed=True) or 1


def _write(path: Path, rows: Sequence[int], values: NDArray[Any]) -> None:
    size = values[:1].nbytes
    # Through the file and not through a map: a full disk under a map kills the process.
    with path.open("r+b") as file:
        for row, value in zip(rows, values, strict=True):
            file.seek(row * size)
            file.write(value.tobytes())
        file.flush()
        sync(file.fileno())
