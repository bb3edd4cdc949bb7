"""The formats of files with texts: CSV and TSV, JSON Lines, Parquet.

CSV is read by the standard library, not by pandas: it is strict about quotes, keeps what follows a NUL byte, knows the
line of every row, and still reads 100,000 rows in a fraction of a second.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from hybridal.errors import UserError
from hybridal.tasks.table import CHUNK, FileTable, column_position, opened


def read_csv(path: Path, wanted: Sequence[str]) -> Iterator[FileTable]:
    """These columns of a comma-separated file with a header; every value is a string.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text('text,label\\n"Hello, you",ham\\nWIN NOW,spam\\n')
    >>> [table.columns["text"] for table in read_csv(path, ["text"])]
    [['Hello, you', 'WIN NOW']]
    """
    return _read(path, wanted, ",", "a comma")


def read_tsv(path: Path, wanted: Sequence[str]) -> Iterator[FileTable]:
    """These columns of a tab-separated file with a header, quoted as a CSV file is.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.tsv"
    >>> _ = path.write_text("text\\tlabel\\nHello, you\\tham\\n")
    >>> [table.columns["text"] for table in read_tsv(path, ["text"])]
    [['Hello, you']]
    """
    return _read(path, wanted, "\t", "a tab")


def _read(path: Path, wanted: Sequence[str], delimiter: str, delimiter_name: str) -> Iterator[FileTable]:
    with opened(path, newline="") as file:
        rows = _rows(path, file, delimiter)
        with long_fields():
            _, header = next(rows, (0, []))
        positions = [column_position(path, name, header) for name in wanted]
        while True:
            with long_fields():
                some = list(islice(rows, CHUNK))
            if not some:
                return
            for line, row in some:
                if len(row) != len(header):
                    raise UserError(
                        f"{path}, line {line}: {len(row)} fields where the header has {len(header)}; put a text "
                        f"that contains {delimiter_name} or a line break in double quotes."
                    )
            columns = {name: [row[i] for _, row in some] for name, i in zip(wanted, positions, strict=True)}
            yield FileTable(path, columns, "line", [line for line, _ in some])


def _rows(path: Path, file: TextIO, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, each with the line where it begins."""
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    end = 0
    try:
        for row in reader:
            start, end = end + 1, reader.line_num
            if row:
                yield start, row
    except csv.Error as error:
        # Where the row began, not where the reader gave up: a quote left open swallows the rest of the file.
        raise UserError(
            f"{path}, line {end + 1}: broken quoting ({error}); close every double quote that is opened, and "
            "write one inside a quoted text twice."
        ) from error


@contextmanager
def long_fields() -> Iterator[None]:
    """Lifts the csv module's limit of 128 KiB a field, which the whole process shares, for a while."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def read_jsonl(path: Path, wanted: Sequence[str]) -> Iterator[FileTable]:
    """These keys of every line's object; a key that a line lacks gives None.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.jsonl"
    >>> _ = path.write_text('{"text": "Hello", "label": "ham"}\\n{"text": "You"}\\n')
    >>> [table.columns["label"] for table in read_jsonl(path, ["label"])]
    [['ham', None]]
    """
    found: dict[str, None] = {}
    places: list[int] = []
    objects: list[dict[str, Any]] = []

    def table() -> FileTable:
        return FileTable(path, {name: [value.get(name) for value in objects] for name in wanted}, "line", places)

    for place, value in _objects(path):
        found |= dict.fromkeys(value)
        places.append(place)
        objects.append(value)
        # A key may come late; until all have come, it is not known that none is misspelt.
        if len(places) >= CHUNK and found.keys() >= set(wanted):
            yield table()
            places, objects = [], []
    for name in wanted:
        column_position(path, name, list(found))
    if places:
        yield table()


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line's object with the number of the line."""
    # Lines end at line feeds alone: a JSON string may hold U+2028 and its kin.
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


BUFFER = 2**20  # bytes of a column read ahead; without it, all columns of a row group


def read_parquet(path: Path, wanted: Sequence[str]) -> Iterator[FileTable]:
    """These columns of a Parquet file.

    >>> import pyarrow, pyarrow.parquet, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.parquet"
    >>> pyarrow.parquet.write_table(pyarrow.table({"text": ["Hello", "You"], "label": [0, 1]}), path)
    >>> [table.columns["label"] for table in read_parquet(path, ["label"])]
    [[0, 1]]
    """
    # Here, not above: a quarter of a second that `hybridal --help` need not pay.
    import pyarrow
    import pyarrow.parquet

    if path.stat().st_size == 0:
        raise UserError(f"{path}: the file is empty; give one with a text per row.")
    try:
        with pyarrow.parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
            for name in wanted:
                column_position(path, name, file.schema_arrow.names)
            first = 1
            for batch in file.iter_batches(CHUNK, columns=list(wanted)):
                columns = {name: _values(path, name, batch.column(name), first) for name in wanted}
                yield FileTable(path, columns, "row", range(first, first + len(batch)))
                first += len(batch)
    except (pyarrow.ArrowException, OSError) as error:
        reason = (str(error).splitlines() or ["no reason given"])[0].rstrip(".")
        raise UserError(f"{path}: not a whole Parquet file ({reason}); copy or write it again.") from error


def _values(path: Path, name: str, column: Any, first: int) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        # Parquet does not check that a string is UTF-8. Slow, but only now that one of them is known not to be.
        for row, cell in enumerate(column, start=first):
            try:
                cell.as_py()
            except UnicodeDecodeError as error:
                raise UserError(f"{path}, row {row}, column '{name}': not valid UTF-8; write it as UTF-8.") from error
        raise
    return values
