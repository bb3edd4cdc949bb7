"""The first sheet of an Excel file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import Any

from hybridal.errors import UserError
from hybridal.tasks.table import CHUNK, FileTable, column_positions

MOST_ROWS = 1_048_576  # that a sheet can have; a damaged file may claim more


def read_xlsx(path: Path, wanted: Sequence[str], others: bool = False) -> Iterator[FileTable]:
    """These columns of the first sheet, whose first row that is not blank names them; every value is a string.

    >>> import tempfile, openpyxl
    >>> path, book = Path(tempfile.mkdtemp()) / "mail.xlsx", openpyxl.Workbook()
    >>> for row in (["text", "n"], ["Hello", 3], [None, None], ["You", 2.5]):
    ...     book.active.append(row)
    >>> book.save(path)
    >>> [(table.columns, table.places) for table in read_xlsx(path, ["text", "n"])]
    [({'text': ['Hello', 'You'], 'n': ['3', '2.5']}, [2, 4])]
    """
    rows = _rows(path)
    _, header = next(rows, (0, []))
    positions = column_positions(path, wanted, header, others)
    while some := list(islice(rows, CHUNK)):
        columns = {name: [row[i] if i < len(row) else "" for _, row in some] for name, i in positions.items()}
        yield FileTable(path, columns, "row", [number for number, _ in some])


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank with their numbers; cells after the last that is filled are not there."""
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError as error:
        raise UserError(f"{path}: reading Excel files needs openpyxl; install `hybridal[app]`.") from error
    if path.stat().st_size == 0:
        raise UserError(f"{path}: the file is empty; give one with a text per row.")
    try:
        book = load_workbook(path, read_only=True, data_only=True)
        try:
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # what a file says of its own size may be wrong
            for number, cells in enumerate(sheet.iter_rows(max_row=MOST_ROWS, values_only=True), start=1):
                row = [_string(cell) for cell in cells]
                if any(cell.strip() for cell in row):
                    yield number, row
        finally:
            book.close()
    except (UserError, GeneratorExit):
        raise
    except Exception as error:  # a damaged file fails in whichever part of the library meets the damage
        raise UserError(f"{path}: not a whole Excel file ({error!s:.80}); save it again as .xlsx.") from error


def _string(cell: Any) -> str:
    """A cell as it is mostly shown: 3.0 is 3, and a day has no time.

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
