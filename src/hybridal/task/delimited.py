"""CSV and TSV files.

Read by the standard library, not by pandas: it is strict about quotes, keeps what follows a NUL byte, knows the line
of every row, and still reads 100,000 rows in a fraction of a second.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hybridal.errors import UserError
from hybridal.task.table import Table, column_position, decoded


def read_csv(path: Path, wanted: Sequence[str]) -> Table:
    """These columns of a comma-separated file with a header; every value is a string.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.csv"
    >>> _ = path.write_text('text,label\\n"Hello, you",ham\\nWIN NOW,spam\\n')
    >>> read_csv(path, ["text"]).columns["text"]
    ['Hello, you', 'WIN NOW']
    """
    return _read(path, wanted, ",", "a comma")


def read_tsv(path: Path, wanted: Sequence[str]) -> Table:
    """These columns of a tab-separated file with a header, quoted as a CSV file is.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.tsv"
    >>> _ = path.write_text("text\\tlabel\\nHello, you\\tham\\n")
    >>> read_tsv(path, ["text"]).columns["text"]
    ['Hello, you']
    """
    return _read(path, wanted, "\t", "a tab")


def _read(path: Path, wanted: Sequence[str], delimiter: str, delimiter_name: str) -> Table:
    rows: list[list[str]] = []
    places: list[int] = []
    end = 0
    with _long_fields():
        reader = csv.reader(io.StringIO(decoded(path), newline=""), delimiter=delimiter, strict=True)
        try:
            header = next((row for row in reader if row), [])
            positions = [column_position(path, name, header) for name in wanted]
            end = reader.line_num
            for row in reader:
                start, end = end + 1, reader.line_num
                if not row:
                    continue
                if len(row) != len(header):
                    raise UserError(
                        f"{path}, line {start}: {len(row)} fields where the header has {len(header)}; put a text "
                        f"that contains {delimiter_name} or a line break in double quotes."
                    )
                rows.append(row)
                places.append(start)
        except csv.Error as error:
            # Where the row began, not where the reader gave up: a quote left open swallows the rest of the file.
            raise UserError(
                f"{path}, line {end + 1}: broken quoting ({error}); close every double quote that is opened, and "
                "write one inside a quoted text twice."
            ) from error
    columns = {name: [row[i] for row in rows] for name, i in zip(wanted, positions, strict=True)}
    return Table(path, columns, "line", places)


@contextmanager
def _long_fields() -> Iterator[None]:
    """Lifts the csv module's limit of 128 KiB a field, which the whole process shares, for a while."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)
