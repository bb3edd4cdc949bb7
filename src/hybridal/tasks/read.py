"""Read and validate a file of texts."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from hybridal.errors import UserError
from hybridal.tasks.answers import Answer, Decisions, names_of
from hybridal.tasks.class_name_checks import MAX_CLASS_NAME, check_name_lengths
from hybridal.tasks.columns import check_different
from hybridal.tasks.file_formats import read_csv, read_json, read_jsonl, read_lines, read_tsv
from hybridal.tasks.label_cells import read_cell, read_indicators
from hybridal.tasks.parquet_files import read_parquet
from hybridal.tasks.single import ONE_LABEL, ONE_TEXT
from hybridal.tasks.spreadsheet import read_xlsx
from hybridal.tasks.table import FileTable, joined

READERS: Mapping[str, Callable[[Path, Sequence[str], bool], Iterator[FileTable]]] = {
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".txt": read_lines,
    ".jsonl": read_jsonl,
    ".json": read_json,
    ".xlsx": read_xlsx,
    ".parquet": read_parquet,
}


@dataclass(frozen=True)
class LabelColumn:
    """Where the labels of a file are, and how they are written.

    Attributes:
        name: The column of the labels; several are indicator columns, one per class.
        several: Accept several classes in a cell.
        separator: What stands between classes in a cell.
    """

    name: str | tuple[str, ...]
    several: bool = True
    separator: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to read."""
        return (self.name,) if isinstance(self.name, str) else self.name


@dataclass(frozen=True)
class Rows:
    """The texts of one file.

    Attributes:
        ids: Ids of the texts.
        texts: The texts.
        labels: Labels; None if missing. A cell with several is a set of classes.
        table: The columns, with the position of each row in the file.
        numbered: Whether the ids are row numbers.
        empty: Number of skipped rows without text.
        duplicates: Number of skipped rows with a repeated text.
    """

    ids: Sequence[str]
    texts: Sequence[str]
    labels: Sequence[Answer | None]
    table: FileTable
    numbered: bool
    empty: int = 0
    duplicates: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def class_names(self) -> list[str | None]:
        """The labels of a file in which each text has one."""
        return [label if isinstance(label, str) else None for label in self.labels]


def read_rows(
    path: str | Path,
    text: str,
    label: str | LabelColumn | None = None,
    id: str | None = None,
    most: int | None = None,
    *,
    drop_empty: bool = False,
    drop_duplicates: bool = False,
    others: bool = False,
) -> Rows:
    r"""Read a file in one of the formats of `READERS`.

    Args:
        path: The file.
        text: Column with the texts.
        label: Column with the labels, one class per cell; or a `LabelColumn`, which may have several.
        id: Column with the ids; by default a row's id is its number, from 1.
        most: Refuse files with more rows.
        drop_empty: Skip rows without text, which are refused otherwise.
        drop_duplicates: Keep only the first of identical texts.
        others: Also read the other columns, for `table`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("text,kind\nHello,ham\nNA,\n")
    >>> rows = read_rows(path, "text", label="kind")
    >>> rows.ids, rows.texts, rows.labels
    (['1', '2'], ['Hello', 'NA'], ['ham', None])
    """
    pieces: list[Rows] = []
    for piece in stream_rows(path, text, label, id, drop_empty=drop_empty, others=others):
        pieces.append(piece)
        if most is not None and sum(map(len, pieces)) > most:
            raise UserError(f"{path}: the file has more than {most} rows; split it.")
    rows = Rows(
        list(chain.from_iterable(piece.ids for piece in pieces)),
        list(chain.from_iterable(piece.texts for piece in pieces)),
        list(chain.from_iterable(piece.labels for piece in pieces)),
        joined(piece.table for piece in pieces),
        numbered=id is None,
        empty=sum(piece.empty for piece in pieces),
    )
    if not len(rows):
        raise UserError(f"{path}: every text in the column '{text}' is empty; give a file with a text per row.")
    if drop_duplicates:
        rows = _without_duplicates(rows)
    if id is not None:
        _check_unique(rows.table, id, rows.ids)
    return rows


def _without_duplicates(rows: Rows) -> Rows:
    """Keep the first row of each text, with the first label of any of its rows."""
    first: dict[str, int] = {}
    labels: dict[str, Answer | None] = {}
    for row, (body, name) in enumerate(zip(rows.texts, rows.labels, strict=True)):
        first.setdefault(body, row)
        labels[body] = name if labels.get(body) is None else labels[body]
    kept = [*first.values()]
    return replace(
        rows,
        ids=[rows.ids[row] for row in kept],
        texts=[*first],
        labels=[labels[body] for body in first],
        table=rows.table.take(kept),
        duplicates=len(rows) - len(kept),
    )


def stream_rows(
    path: str | Path,
    text: str,
    label: str | LabelColumn | None = None,
    id: str | None = None,
    *,
    drop_empty: bool = False,
    others: bool = False,
) -> Iterator[Rows]:
    r"""Yield the rows of a file in chunks; `count_rows` checks that ids are unique.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("text\nHello\nYou\n")
    >>> [(rows.ids, rows.texts) for rows in stream_rows(path, "text")]
    [(['1', '2'], ['Hello', 'You'])]
    """
    column = LabelColumn(label, several=False) if isinstance(label, str) else label
    names = () if column is None else column.names
    for name in names:
        check_different(text, name, id)
    wanted = [name for name in (text, *names, id) if name is not None]
    before = 0
    tables = read_tables(path, list(dict.fromkeys(wanted)), others)
    for table in tables:
        empty = set(_empty(table, text))
        if empty and not drop_empty:
            _refuse_empty(text, chain([table], tables))
        full = [row for row in range(len(table.places)) if row not in empty]
        numbers = [str(before + row + 1) for row in full]
        rows = _rows(table.take(full) if empty else table, text, column, id, numbers)
        yield replace(rows, empty=len(empty))
        before += len(table.places)


def count_rows(
    path: str | Path, text: str, label: str | None = None, id: str | None = None, *, drop_empty: bool = False
) -> tuple[int, int]:
    r"""Validate all rows; return how many `stream_rows` yields and how many it skips.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("text,note\nHello,\nYou,\n,none\n")
    >>> count_rows(path, "text", drop_empty=True)
    (2, 1)
    """
    import numpy as np

    hashes, empty = array("q"), 0  # eight bytes per row instead of about a hundred for the ids
    for rows in stream_rows(path, text, label, id, drop_empty=drop_empty):
        hashes.extend(map(hash, rows.ids))
        empty += rows.empty
    ordered = np.sort(hashes)
    if id is not None and (ordered[1:] == ordered[:-1]).any():
        read_rows(
            path, text, label, id, drop_empty=drop_empty
        )  # names the equal ids, unless only their hashes are equal
    return len(hashes), empty


def read_tables(path: str | Path, wanted: Sequence[str], others: bool = False) -> Iterator[FileTable]:
    r"""Yield the wanted columns of a file, or all, in chunks.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text("text,kind\nHello,ham\n")
    >>> [table.columns for table in read_tables(path, [], others=True)]
    [{'text': ['Hello'], 'kind': ['ham']}]
    """
    if "://" in str(path):
        raise UserError(f"{path}: texts are not read from the web; download the file and name it.")
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise UserError(f"{path}: the extension '{path.suffix}' is not known; use one of {', '.join(READERS)}.")
    if not path.exists():
        raise UserError(f"{path}: there is no such file; check the path.")
    rows = 0
    try:
        for table in reader(path, wanted, others):
            rows += len(table.places)
            yield table
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions.") from error
    if not rows:
        raise UserError(f"{path}: the file has no rows; give one with a text per row.")


def _rows(table: FileTable, text: str, label: LabelColumn | None, id: str | None, numbers: Sequence[str]) -> Rows:
    texts = list(table.columns[text])
    labels: list[Answer | None] = [None] * len(texts)
    if label is not None:
        labels = [_label(table, label, row) for row in range(len(texts))]
    ids = numbers
    if id is not None:
        ids = [_id(table, id, row, value) for row, value in enumerate(table.columns[id])]
    _check_whole_characters(table, text, texts)
    _check_whole_characters(table, id, ids)
    if label is not None:
        written = [one if one is None or isinstance(one, str) else "".join(names_of([one])) for one in labels]
        _check_whole_characters(table, label.names[0], written)
    return Rows(ids, texts, labels, table, numbered=id is None)


def _empty(table: FileTable, column: str) -> list[int]:
    """Return the rows without text; refuse values that are not texts."""
    found = []
    for row, value in enumerate(table.columns[column]):
        if value is not None and not isinstance(value, str):
            how = "write it as a string"
            if isinstance(value, list | dict):
                how = ONE_TEXT.rstrip(".") if isinstance(value, list) else "write a row for each text"
            raise UserError(f"{table.at(row)}, column '{column}': {value!r:.40} is not a text; {how}.")
        if value is None or not visible(value):
            found.append(row)
    return found


def visible(value: str) -> bool:
    """Return whether a text has a visible character: spaces and zero-width characters look empty."""
    return any(letter.isprintable() and not letter.isspace() for letter in value)


def _refuse_empty(column: str, tables: Iterator[FileTable]) -> NoReturn:
    """Name the first row without text and count all of them, so that users need not find them one by one."""
    table = next(tables)
    places = [piece.places[row] for piece in chain([table], tables) for row in _empty(piece, column)]
    first = f"{table.path}, {table.unit} {places[0]}, column '{column}': the text is empty"
    if len(places) == 1:
        raise UserError(f"{first}; fill it in, or leave it out with `drop_empty`.", field="drop_empty")
    others = ", ".join(str(place) for place in places[1:10]) + (", …" if len(places) > 10 else "")
    raise UserError(
        f"{first}, {len(places)} in all (then {others}); fill them in, or leave them out with `drop_empty`.",
        field="drop_empty",
    )


def _label(table: FileTable, label: LabelColumn, row: int) -> Answer | None:
    column = label.name
    if not isinstance(column, str):
        return read_indicators({name: table.columns[name][row] for name in column}, table.at(row))
    value = table.columns[column][row]
    if isinstance(value, list):
        answer: Answer = _class_list(table, label, row, value)
    elif isinstance(value, dict) and label.several:
        answer = _class_decisions(table, column, row, value)
    elif not (answer := _name(table, column, row, value).strip()):
        return None
    elif label.separator is not None:
        try:
            answer = read_cell(answer, label.separator)
        except UserError as error:
            raise UserError(f"{table.at(row)}, column '{column}': {error}") from error
    for name in names_of([answer]):
        if len(name) > MAX_CLASS_NAME:
            check_name_lengths(f"{table.at(row)}, column '{column}': the label", [name])
    return answer


def _class_list(table: FileTable, label: LabelColumn, row: int, value: list[Any]) -> frozenset[str]:
    where = f"{table.at(row)}, column '{label.names[0]}': {value!r:.40}"
    if not label.several:
        raise UserError(f"{where}; {ONE_LABEL}")
    names = [_name(table, label.names[0], row, item).strip() for item in value]
    if not all(names):
        raise UserError(f"{where} has an empty class name; name each class, or write [] for none.")
    return frozenset(names)


def _class_decisions(table: FileTable, column: str, row: int, value: dict[str, Any]) -> Decisions:
    """Read an object of booleans: decisions on some of the classes."""
    decisions = {name.strip(): has for name, has in value.items()}
    if not decisions or len(decisions) < len(value) or not all(decisions):
        raise UserError(f"{table.at(row)}, column '{column}': {value!r:.40} needs a name for each class.")
    if not all(isinstance(has, bool) for has in decisions.values()):
        raise UserError(
            f"{table.at(row)}, column '{column}': {value!r:.40} is no label; give true or false for each class that "
            "is decided, or a list of the classes that the text has."
        )
    return Decisions.of(decisions)


def _id(table: FileTable, column: str, row: int, value: Any) -> str:
    name = _name(table, column, row, value)
    if not name:
        raise UserError(f"{table.at(row)}, column '{column}': the id is empty; give every row one.")
    return name


def _name(table: FileTable, column: str, row: int, value: Any) -> str:
    """Convert a label or an id to a string, "" if missing; 3 and 3.0 become "3"."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, list | dict | bytes) or (isinstance(value, float) and math.isinf(value)):
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
    """Refuse lone surrogates, which JSON can contain: they can neither be tokenised nor written."""
    try:
        "".join(filter(None, strings)).encode()
    except UnicodeEncodeError:
        # Surrogates of neighbouring rows do not combine in UTF-8, so a single row is invalid.
        for row, string in enumerate(strings):
            try:
                (string or "").encode()
            except UnicodeEncodeError as error:
                code = ord(error.object[error.start])
                raise UserError(
                    f"{table.at(row)}, column '{column}': U+{code:04X} is half a character (a lone surrogate); "
                    "correct the text or remove the row."
                ) from error
