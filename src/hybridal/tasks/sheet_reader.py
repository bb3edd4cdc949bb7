"""A program that prints the rows of a spreadsheet as JSON lines, with limits on memory, time and size.

A small XLSX file can unpack to gigabytes, or repeat one long string in a million cells. A separate process reads it,
which the operating system kills at the limit. It imports nothing from hybridal, to start quickly.
"""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any

MOST_ROWS = 1_048_576  # that a sheet can have; a damaged file may claim more
MOST_CELLS = 10_000_000
MOST_LETTERS = 200_000_000
MEMORY = 1 << 30  # bytes
SECONDS = 120  # of computing

TOO_LARGE = f"it has more than {MOST_CELLS:,} cells or {MOST_LETTERS:,} characters"
TOO_MUCH_MEMORY = f"reading it takes more than {MEMORY >> 30} GB of memory"
PART_LETTERS = 1_000_000


def print_sheet(path: str) -> None:
    """Print lists of [row number, cells], then "whole", or an object with the reason of the failure.

    If there are several sheets, an object with their names comes first; only the first sheet is read.
    """
    try:
        for part in _parts(path):
            _tell(part)
        _tell("whole")
    except _TooLargeError:
        _tell({"too_large": TOO_LARGE})
    except Exception as error:  # a damaged file fails in whichever part of the library meets the damage
        _tell({"too_large": TOO_MUCH_MEMORY} if _is_out_of_memory(error) else {"damaged": f"{error!s:.80}"})


def _is_out_of_memory(error: Exception) -> bool:
    """Whether memory ran out: C code may lose the MemoryError, and imports may fail in its place.

    >>> _is_out_of_memory(MemoryError()), _is_out_of_memory(OSError(errno.ENOMEM, "")), _is_out_of_memory(OSError())
    (True, True, False)
    """
    lost = isinstance(error, MemoryError | SystemError | ImportError)
    return lost or getattr(error, "errno", None) == errno.ENOMEM


class _TooLargeError(Exception):
    pass


def _tell(found: object) -> None:
    sys.stdout.write(json.dumps(found) + "\n")


def _skip_optional_imports() -> None:
    """Hide what openpyxl imports for its writers, which takes half a second and starts threads that take memory."""
    for name in ("numpy", "PIL", "lxml"):
        sys.modules[name] = None  # type: ignore[assignment]


def _parts(path: str) -> Iterator[list[tuple[int, list[str]]]]:
    part: list[tuple[int, list[str]]] = []
    letters = 0
    for number, row in _rows(path):
        part.append((number, row))
        letters += sum(map(len, row))
        if letters > PART_LETTERS or len(part) == 1000:
            yield part
            part, letters = [], 0
    yield part


def _rows(path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows that are not blank, with their numbers and without trailing empty cells."""
    from openpyxl import load_workbook

    count = letters = 0
    book = load_workbook(path, read_only=True, data_only=True)
    sheet, *others = book.worksheets
    if others:
        _tell({"sheets": [sheet.title, *(other.title for other in others)]})
    sheet.reset_dimensions()  # the size that a file declares may be wrong
    for number, cells in enumerate(sheet.iter_rows(max_row=MOST_ROWS, values_only=True), start=1):
        row = [_string(cell) for cell in cells]
        count += len(row)
        letters += sum(map(len, row))
        if count > MOST_CELLS or letters > MOST_LETTERS:
            raise _TooLargeError
        if any(cell.strip() for cell in row):
            yield number, row


def _string(cell: Any) -> str:
    """Format a cell as spreadsheets do: 3.0 as 3, and dates without time.

    >>> _string(None), _string(3.0), _string(True), _string(datetime(2024, 5, 1))
    ('', '3', 'true', '2024-05-01')
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime):
        return (cell if cell.time() != time() else cell.date()).isoformat()
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)


if __name__ == "__main__":
    _skip_optional_imports()
    print_sheet(sys.argv[1])
