"""What every file format gives: columns of values, and the place of each row in its file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from hybridal.errors import UserError

# Readers give this many rows at a time, so that a file may be larger than any memory.
CHUNK = 4096


class NoColumnError(UserError):
    """A column is not there; `found` says so without the advice on which arguments name it."""

    def __init__(self, found: str) -> None:
        super().__init__(f"{found}: name yours with `text`, `label` and `id`.", field="text")
        self.found = found


@dataclass(frozen=True)
class FileTable:
    """Some columns of a file; row i stands at `places[i]`, counted from 1 in `unit`s, as a person counts.

    >>> FileTable(Path("mail.csv"), {"text": ["hello", "you"]}, "line", [2, 5]).at(1)
    'mail.csv, line 5'
    """

    path: Path
    columns: Mapping[str, Sequence[Any]]
    unit: str
    places: Sequence[int]

    def at(self, row: int) -> str:
        return f"{self.path}, {self.unit} {self.places[row]}"


def joined(tables: Iterable[FileTable]) -> FileTable:
    """The pieces of one file as one table.

    >>> path = Path("mail.csv")
    >>> pieces = [FileTable(path, {"text": ["hello"]}, "line", [2]), FileTable(path, {"text": ["you"]}, "line", [5])]
    >>> joined(pieces).columns, joined(pieces).places
    ({'text': ['hello', 'you']}, [2, 5])
    """
    pieces = list(tables)
    first = pieces[0]
    columns = {name: list(chain.from_iterable(piece.columns[name] for piece in pieces)) for name in first.columns}
    return FileTable(first.path, columns, first.unit, list(chain.from_iterable(piece.places for piece in pieces)))


def column_position(path: Path, name: str, names: Sequence[str]) -> int:
    """Where the column of this name stands.

    >>> column_position(Path("mail.csv"), "label", ["text", "label"])
    1
    """
    if not names:
        raise UserError(f"{path}: the file is empty; give one with a text per row.")
    if name not in names:
        raise NoColumnError(f"{path}: there is no column '{name}'; its columns are {', '.join(names)}")
    if names.count(name) > 1:
        raise UserError(f"{path}: {names.count(name)} columns are named '{name}'; rename all but one.")
    return names.index(name)


@contextmanager
def opened(path: Path, newline: str) -> Iterator[TextIO]:
    """The file as text; it must be UTF-8, with or without a byte order mark.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_bytes("\\ufeffé".encode())
    >>> with opened(path, newline="") as file:
    ...     file.read()
    'é'
    """
    try:
        with path.open(encoding="utf-8-sig", newline=newline) as file:
            yield file
    except UnicodeDecodeError:
        _name_the_byte(path)
        raise


def _name_the_byte(path: Path) -> None:
    with path.open("rb") as file:
        for line, data in enumerate(file, start=1):  # no character has the byte of a line's end in it
            try:
                data.decode()
            except UnicodeDecodeError as error:
                raise UserError(
                    f"{path}, line {line}: the byte 0x{data[error.start]:02x} is not valid UTF-8; "
                    "save the file as UTF-8."
                ) from error
