"""Cells of a CSV file that no spreadsheet takes for a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hybridal.system.files import strict_json

# What spreadsheets run when a file is opened; the last four are what some of them read as the first four.
_RUNS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_AT_ONCE = 500


def harmless(value: str) -> str:
    """The text, with an apostrophe before it if a spreadsheet would run it; JSONL and Parquet keep it as it is.

    >>> harmless("=HYPERLINK(...)"), harmless("1 = 1")
    ("'=HYPERLINK(...)", '1 = 1')
    """
    return f"'{value}" if value.startswith(_RUNS) else value


def csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A CSV file in parts; lists are written as JSON.

    >>> "".join(csv_lines(["id", "n"], [{"id": "-1", "n": 2}, {"id": "a", "n": None}])).splitlines()
    ['id,n', "'-1,2", 'a,']
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(map(harmless, columns))
    for at, row in enumerate(rows, start=1):
        writer.writerow([_cell(row[column]) for column in columns])
        if at % _AT_ONCE == 0:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return harmless(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return strict_json(value) if isinstance(value, list) else value
