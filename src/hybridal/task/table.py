"""What every file format gives: columns of values, and the place of each row in its file."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybridal.errors import UserError


@dataclass(frozen=True)
class Table:
    """Some columns of a file; row i stands at `places[i]`, counted from 1 in `unit`s, as a person counts.

    >>> Table(Path("mail.csv"), {"text": ["hello", "you"]}, "line", [2, 5]).at(1)
    'mail.csv, line 5'
    """

    path: Path
    columns: Mapping[str, Sequence[Any]]
    unit: str
    places: Sequence[int]

    def at(self, row: int) -> str:
        return f"{self.path}, {self.unit} {self.places[row]}"


def column_position(path: Path, name: str, names: Sequence[str]) -> int:
    """Where the column of this name stands.

    >>> column_position(Path("mail.csv"), "label", ["text", "label"])
    1
    """
    if not names:
        raise UserError(f"{path}: the file is empty; give one with a text per row.")
    if name not in names:
        raise UserError(
            f"{path}: there is no column '{name}'; its columns are {', '.join(names)}: "
            "name yours by --text, --label and --id."
        )
    if names.count(name) > 1:
        raise UserError(f"{path}: {names.count(name)} columns are named '{name}'; rename all but one.")
    return names.index(name)


def decoded(path: Path) -> str:
    """The whole file as text; it must be UTF-8, with or without a byte order mark.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_bytes("\\ufeffé".encode())
    >>> decoded(path)
    'é'
    """
    data = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{path}, line {line}: the byte 0x{data[error.start]:02x} is not valid UTF-8; save the file as UTF-8."
        ) from error
