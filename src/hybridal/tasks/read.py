"""Reads a file of texts, and says clearly what is wrong with it."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from hybridal.errors import UserError
from hybridal.tasks.formats import read_csv, read_jsonl, read_parquet, read_tsv
from hybridal.tasks.table import FileTable, joined

READERS: Mapping[str, Callable[[Path, Sequence[str]], Iterator[FileTable]]] = {
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".jsonl": read_jsonl,
    ".parquet": read_parquet,
}


@dataclass(frozen=True)
class Rows:
    """The texts of one file; a label is None where the file has none. `numbered`: the ids are row numbers."""

    ids: Sequence[str]
    texts: Sequence[str]
    labels: Sequence[str | None]
    table: FileTable
    numbered: bool

    def __len__(self) -> int:
        return len(self.ids)


def read_rows(
    path: str | Path, text: str, label: str | None = None, id: str | None = None, most: int | None = None
) -> Rows:
    """The rows of a CSV, TSV, JSONL or Parquet file; `text`, `label` and `id` name its columns.

    Without an id column, a row's id is its number among the rows, from 1. More rows than `most` are not read.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("text,kind\\nHello,ham\\nNA,\\n")
    >>> rows = read_rows(path, "text", label="kind")
    >>> rows.ids, rows.texts, rows.labels
    (['1', '2'], ['Hello', 'NA'], ['ham', None])
    """
    pieces: list[Rows] = []
    for piece in stream_rows(path, text, label, id):
        pieces.append(piece)
        if most is not None and sum(map(len, pieces)) > most:
            raise UserError(f"{path}: the file has more than {most} rows; split it.")
    rows = Rows(
        list(chain.from_iterable(piece.ids for piece in pieces)),
        list(chain.from_iterable(piece.texts for piece in pieces)),
        list(chain.from_iterable(piece.labels for piece in pieces)),
        joined(piece.table for piece in pieces),
        numbered=id is None,
    )
    if id is not None:
        _check_unique(rows.table, id, rows.ids)
    return rows


def stream_rows(path: str | Path, text: str, label: str | None = None, id: str | None = None) -> Iterator[Rows]:
    """The rows of a file of any size, some thousand at a time; see `count_rows` for whether its ids are unique.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("text\\nHello\\nYou\\n")
    >>> [(rows.ids, rows.texts) for rows in stream_rows(path, "text")]
    [(['1', '2'], ['Hello', 'You'])]
    """
    wanted = [name for name in (text, label, id) if name is not None]
    before = 0
    tables = _tables(Path(path), list(dict.fromkeys(wanted)))
    for table in tables:
        if _empty(table, text):
            _refuse_empty(text, chain([table], tables))
        yield _rows(table, text, label, id, before)
        before += len(table.places)


def count_rows(path: str | Path, text: str, label: str | None = None, id: str | None = None) -> int:
    """How many rows a file has, of any size, once it is sure that nothing is wrong with them.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("text\\nHello\\nYou\\n")
    >>> count_rows(path, "text")
    2
    """
    import numpy as np

    hashes = array("q")  # eight bytes a row, where the ids themselves would take a hundred
    for rows in stream_rows(path, text, label, id):
        hashes.extend(map(hash, rows.ids))
    ordered = np.sort(hashes)
    if id is not None and (ordered[1:] == ordered[:-1]).any():
        read_rows(path, text, label, id)  # says which are equal, unless only their hashes are
    return len(hashes)


def _tables(path: Path, wanted: Sequence[str]) -> Iterator[FileTable]:
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise UserError(f"{path}: the extension '{path.suffix}' is not known; use one of {', '.join(READERS)}.")
    if not path.exists():
        raise UserError(f"{path}: there is no such file; check the path.")
    rows = 0
    try:
        for table in reader(path, wanted):
            rows += len(table.places)
            yield table
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions.") from error
    if not rows:
        raise UserError(f"{path}: the file has no rows; give one with a text per row.")


def _rows(table: FileTable, text: str, label: str | None, id: str | None, before: int) -> Rows:
    texts = list(table.columns[text])
    labels: list[str | None] = [None] * len(texts)
    if label is not None:
        labels = [_label(table, label, row, value) for row, value in enumerate(table.columns[label])]
    ids = [str(number) for number in range(before + 1, before + 1 + len(texts))]
    if id is not None:
        ids = [_id(table, id, row, value) for row, value in enumerate(table.columns[id])]
    for column, strings in ((text, texts), (label, labels), (id, ids)):
        _check_whole_characters(table, column, strings)
    return Rows(ids, texts, labels, table, numbered=id is None)


def _empty(table: FileTable, column: str) -> list[int]:
    """The places of empty texts, once all are known to be texts."""
    found = []
    for row, value in enumerate(table.columns[column]):
        if value is not None and not isinstance(value, str):
            raise UserError(f"{table.at(row)}, column '{column}': {value!r:.40} is not a text; write it as a string.")
        if value is None or not value.strip():
            found.append(table.places[row])
    return found


def _refuse_empty(column: str, tables: Iterator[FileTable]) -> NoReturn:
    """Names the first and counts them all: who has hundreds shall not find them one by one."""
    table = next(tables)
    places = _empty(table, column)
    for later in tables:
        places += _empty(later, column)
    first = f"{table.path}, {table.unit} {places[0]}, column '{column}': the text is empty"
    if len(places) == 1:
        raise UserError(f"{first}; fill it in or remove the row.")
    others = ", ".join(str(place) for place in places[1:10]) + (", …" if len(places) > 10 else "")
    raise UserError(f"{first}, {len(places)} in all (then {others}); fill them in or remove the rows.")


def _label(table: FileTable, column: str, row: int, value: Any) -> str | None:
    return _name(table, column, row, value).strip() or None


def _id(table: FileTable, column: str, row: int, value: Any) -> str:
    name = _name(table, column, row, value)
    if not name:
        raise UserError(f"{table.at(row)}, column '{column}': the id is empty; give every row one.")
    return name


def _name(table: FileTable, column: str, row: int, value: Any) -> str:
    """A label or an id as a string, empty if missing: the number 3, also when stored as 3.0, is '3'."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list | dict | bytes):
        raise UserError(f"{table.at(row)}, column '{column}': {value!r:.40} is not a name; write a string or a number.")
    return str(value)


def _check_unique(table: FileTable, column: str, ids: Sequence[str]) -> None:
    if len(set(ids)) == len(ids):
        return
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name in first:
            raise UserError(
                f"{table.at(row)}, column '{column}': the id '{name:.40}' is also that of {table.unit} "
                f"{table.places[first[name]]}; make ids unique."
            )
        first[name] = row


def _check_whole_characters(table: FileTable, column: str | None, strings: Sequence[str | None]) -> None:
    """Half a character (a lone surrogate, which JSON can spell) can be neither tokenised nor written anywhere."""
    try:
        "".join(filter(None, strings)).encode()
    except UnicodeEncodeError:
        # Two halves in neighbouring rows do not join up in UTF-8, so some row is at fault by itself.
        for row, string in enumerate(strings):
            try:
                (string or "").encode()
            except UnicodeEncodeError as error:
                code = ord(error.object[error.start])
                raise UserError(
                    f"{table.at(row)}, column '{column}': U+{code:04X} is half a character (a lone surrogate); "
                    "correct the text or remove the row."
                ) from error
