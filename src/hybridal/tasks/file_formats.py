"""Read CSV, TSV, lines, JSON Lines and JSON arrays; `parquet_files.py` reads Parquet, and `spreadsheet.py` XLSX.

A reader yields the wanted columns, which must exist, and with `others` all columns.

CSV is read by the standard library, not by pandas: it is strict about quotes, keeps text after a NUL byte, knows the
line of every row, and still reads 100,000 rows in a fraction of a second.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from hybridal.errors import UserError
from hybridal.tasks.argilla_records import is_record, record_row
from hybridal.tasks.encoding import opened
from hybridal.tasks.table import CHUNK, FileTable, column_position, column_positions

# The csv module refuses fields of more than 128 KiB by default. The limit is global, so raise it once: restoring it
# after a file would break readers in other threads.
csv.field_size_limit(2**31 - 1)

DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}


def read_csv(path: Path, wanted: Sequence[str], others: bool = False) -> Iterator[FileTable]:
    r"""Read a CSV file with a header, separated by commas, semicolons or tabs; all values are strings.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text('text,label\n"Hello, you",ham\nWIN NOW,spam\n')
    >>> [table.columns["text"] for table in read_csv(path, ["text"])]
    [['Hello, you', 'WIN NOW']]
    >>> _ = path.write_text('text;label\nHello, you;ham\n')
    >>> [table.columns["text"] for table in read_csv(path, ["text"])]
    [['Hello, you']]
    """
    return _read(path, wanted, others, ",;\t")


def read_tsv(path: Path, wanted: Sequence[str], others: bool = False) -> Iterator[FileTable]:
    r"""Read a TSV file; as `read_csv`, but tabs are tried first.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.tsv"
    >>> _ = path.write_text("text\tlabel\nHello, you\tham\n")
    >>> [table.columns["text"] for table in read_tsv(path, ["text"])]
    [['Hello, you']]
    """
    return _read(path, wanted, others, "\t,;")


def _read(path: Path, wanted: Sequence[str], others: bool, delimiters: str) -> Iterator[FileTable]:
    with opened(path, newline="") as file:
        delimiter = delimiter_of(file, delimiters)
        rows = _rows(path, file, delimiter)
        _, header = next(rows, (0, []))
        positions = column_positions(path, wanted, header, others)
        while some := list(islice(rows, CHUNK)):
            for line, row in some:
                if len(row) != len(header):
                    raise UserError(
                        f"{path}, line {line}: {len(row)} fields where the header has {len(header)}; put a text "
                        f"that contains {DELIMITERS[delimiter]} or a line break in double quotes."
                    )
            columns = {name: [row[i] for _, row in some] for name, i in positions.items()}
            yield FileTable(path, columns, "line", [line for line, _ in some])


def delimiter_of(file: TextIO, delimiters: str = ",;\t") -> str:
    r"""Return the delimiter that splits the header into most columns, and rewind the file.

    >>> import io
    >>> delimiter_of(io.StringIO("id;label\n1;a,b,c\n"))
    ';'
    """
    found = max(delimiters, key=lambda one: len(_header(file, one)))
    file.seek(0)
    return found


def _header(file: TextIO, delimiter: str) -> list[str]:
    """Return the first row split by this delimiter; [] if its quotes are then misplaced."""
    file.seek(0)
    try:
        return next((row for row in csv.reader(file, delimiter=delimiter, strict=True) if row), [])
    except csv.Error:
        return []


def _rows(path: Path, file: TextIO, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows that are not blank, each with its first line number."""
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    end = 0
    try:
        for row in reader:
            start, end = end + 1, reader.line_num
            if row:
                yield start, row
    except csv.Error as error:
        # Name the line where the row begins: an open quote makes the reader fail at the end of the file.
        raise UserError(
            f"{path}, line {end + 1}: broken quoting ({error}); close every double quote that is opened, and "
            "write one inside a quoted text twice."
        ) from error


def read_lines(path: Path, wanted: Sequence[str], others: bool = False) -> Iterator[FileTable]:  # noqa: ARG001
    r"""Read every line that is not blank as a text, in the column 'text'.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.txt"
    >>> _ = path.write_text("Hello, you\n\nWIN NOW\n")
    >>> [(table.columns, table.places) for table in read_lines(path, ["text"])]
    [({'text': ['Hello, you', 'WIN NOW']}, [1, 3])]
    """
    column_positions(path, wanted, ["text"])
    with opened(path, newline="\n") as file:
        lines = ((number, line.rstrip("\r\n")) for number, line in enumerate(file, start=1) if line.strip())
        while some := list(islice(lines, CHUNK)):
            yield FileTable(path, {"text": [line for _, line in some]}, "line", [number for number, _ in some])


def read_jsonl(path: Path, wanted: Sequence[str], others: bool = False) -> Iterator[FileTable]:
    r"""Read keys of the object on each line; a missing key is None.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.jsonl"
    >>> _ = path.write_text('{"text": "Hello", "label": "ham"}\n{"text": "You"}\n')
    >>> [table.columns["label"] for table in read_jsonl(path, ["label"])]
    [['ham', None]]
    """
    return _keyed(path, _objects(path), "line", wanted, others)


def read_json(path: Path, wanted: Sequence[str], others: bool = False) -> Iterator[FileTable]:
    """Read an array of objects or of strings; a file that does not start with "[" is read as JSON Lines.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.json"
    >>> _ = path.write_text('[{"text": "Hello", "label": "ham"}, "You"]')
    >>> [table.columns for table in read_json(path, ["text", "label"])]
    [{'text': ['Hello', 'You'], 'label': ['ham', None]}]
    """
    with opened(path, newline="\n") as file:
        begins = next((line.lstrip() for line in file if line.strip()), "")
    if not begins.startswith("["):
        return read_jsonl(path, wanted, others)
    return _keyed(path, _items(path), "item", wanted, others)


def _keyed(
    path: Path, objects: Iterator[tuple[int, dict[str, Any]]], unit: str, wanted: Sequence[str], others: bool
) -> Iterator[FileTable]:
    found: dict[str, None] = {}
    places: list[int] = []
    some: list[dict[str, Any]] = []

    def table() -> FileTable:
        names = dict.fromkeys([*wanted, *found]) if others else wanted
        return FileTable(path, {name: [value.get(name) for value in some] for name in names}, unit, places)

    for place, item in objects:
        value = record_row(item) if is_record(item) else item
        for name in value.keys() - found.keys():
            _check_name(f"{path}, {unit} {place}", name)
        found |= dict.fromkeys(value)
        places.append(place)
        some.append(value)
        # A key may appear late. Yield nothing before all wanted keys have appeared, because one may be misspelt.
        if len(places) >= CHUNK and found.keys() >= set(wanted):
            yield table()
            places, some = [], []
    for name in wanted:
        column_position(path, name, list(found))
    if places:
        yield table()


def _check_name(where: str, name: str) -> None:
    """Refuse column names that cannot be encoded."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise UserError(
            f"{where}: the key '{name:.40}' contains half a character (a lone surrogate); rename it."
        ) from error


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the object of each line, with the line number."""
    # Split only at line feeds: a JSON string may contain U+2028 and similar characters.
    with opened(path, newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise UserError(f"{path}, line {number}: broken JSON ({error}); write one object per line.") from error
            if not isinstance(value, dict):
                raise UserError(f'{path}, line {number}: not a JSON object; write one like {{"text": "..."}} per line.')
            yield number, value


def _items(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield each object of an array, with its number."""
    with opened(path, newline="\n") as file:
        try:
            items = json.load(file)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}: broken JSON ({error}); write an array of objects.") from error
    for number, item in enumerate(items, start=1):
        value = {"text": item} if isinstance(item, str) else item
        if not isinstance(value, dict):
            raise UserError(f'{path}, item {number}: not a JSON object; write objects like {{"text": "..."}}.')
        yield number, value
