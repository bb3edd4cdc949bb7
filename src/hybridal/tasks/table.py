"""The common result of all file readers: columns of values, and the position of each row in its file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from hybridal.errors import UserError, one_line

# Rows per chunk: readers stream, so that a file may be larger than memory.
CHUNK = 4096


class NoColumnError(UserError):
    """A column is missing; `found` is the message without the advice on arguments."""

    def __init__(self, found: str) -> None:
        super().__init__(f"{found}: name yours with `text`, `label` and `id`.", field="text")
        self.found = one_line(found)


@dataclass(frozen=True)
class FileTable:
    """Some columns of a file. Row i is at `places[i]`, counted from 1 in `unit`s (lines, rows or items).

    >>> FileTable(Path("mail.csv"), {"text": ["hello", "you"]}, "line", [2, 5]).at(1)
    'mail.csv, line 5'
    """

    path: Path
    columns: Mapping[str, Sequence[Any]]
    unit: str
    places: Sequence[int]

    def at(self, row: int) -> str:
        """Return the place of a row, for error messages."""
        return f"{self.path}, {self.unit} {self.places[row]}"

    def take(self, rows: Sequence[int]) -> FileTable:
        """Select rows."""
        columns = {name: [values[row] for row in rows] for name, values in self.columns.items()}
        return replace(self, columns=columns, places=[self.places[row] for row in rows])


def joined(tables: Iterable[FileTable]) -> FileTable:
    """Concatenate the chunks of a file; a column that a chunk lacks is None there.

    >>> path = Path("mail.csv")
    >>> pieces = [FileTable(path, {"text": ["hello"]}, "line", [2]), FileTable(path, {"text": ["you"]}, "line", [5])]
    >>> joined(pieces).columns, joined(pieces).places
    ({'text': ['hello', 'you']}, [2, 5])
    """
    pieces = list(tables)
    first = pieces[0]
    names = dict.fromkeys(chain.from_iterable(piece.columns for piece in pieces))
    columns = {name: list(chain.from_iterable(_column(piece, name) for piece in pieces)) for name in names}
    return FileTable(first.path, columns, first.unit, list(chain.from_iterable(piece.places for piece in pieces)))


def _column(piece: FileTable, name: str) -> Sequence[Any]:
    return piece.columns[name] if name in piece.columns else [None] * len(piece.places)


MAX_LISTED_NAMES, MAX_NAME_LENGTH = 20, 40


def list_names(names: Sequence[str]) -> str:
    """The names of columns for a sentence: at most 20 of them, cut to 40 characters, with surrounding blanks visible.

    Args:
        names: Names as a file has them; they may be of any length and contain any character.

    Returns:
        The names with commas between them.

    >>> list_names(["text", " label", "x" * 50])
    "text, ' label', xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"
    """
    short = [name if len(name) <= MAX_NAME_LENGTH else f"{name[:MAX_NAME_LENGTH]}…" for name in names]
    shown = [name if name == name.strip() else repr(name) for name in short]
    return ", ".join([*shown[:MAX_LISTED_NAMES], *(["…"] if len(shown) > MAX_LISTED_NAMES else [])])


def column_position(path: Path, name: str, names: Sequence[str]) -> int:
    """Return the index of a column.

    >>> column_position(Path("mail.csv"), "label", ["text", "label"])
    1
    """
    if not names:
        raise UserError(f"{path}: the file is empty; give one with a text per row.")
    if name not in names:
        raise NoColumnError(f"{path}: there is no column '{name}'; its columns are {list_names(names)}")
    if names.count(name) > 1:
        raise UserError(f"{path}: {names.count(name)} columns are named '{name}'; rename all but one.")
    return names.index(name)


def column_positions(path: Path, wanted: Sequence[str], names: Sequence[str], others: bool = False) -> dict[str, int]:
    """Return the indices of the wanted columns and, with `others`, of all that have a name.

    >>> column_positions(Path("mail.csv"), ["text"], ["id", "text", "", "note", "note"], others=True)
    {'text': 1, 'id': 0, 'note': 3, 'note (2)': 4}
    """
    found = {name: column_position(path, name, names) for name in wanted}
    seen: Counter[str] = Counter()
    for position, name in enumerate(names if others else ()):
        seen[name] += 1
        if name.strip() and position not in found.values():
            found[name if seen[name] == 1 else f"{name} ({seen[name]})"] = position
    return found
