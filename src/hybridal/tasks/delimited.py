"""CSV and TSV files.

Read by the standard library, not by pandas: it is strict about quotes, keeps what follows a NUL byte, knows the line
of every row, and still reads 100,000 rows in a fraction of a second.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TextIO

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
