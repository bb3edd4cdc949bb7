"""Read the first sheet of an Excel file in a separate process (`sheet_reader.py`), which may fail safely."""

from __future__ import annotations

import json
import logging
import zipfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from hybridal.errors import UserError
from hybridal.tasks import sheet_reader
from hybridal.tasks.reader_process import reader_output
from hybridal.tasks.table import CHUNK, FileTable, column_positions

_log = logging.getLogger(__name__)

MOST_UNPACKED = 1_000_000_000  # bytes
# Sheets compress to a tenth or a twentieth; a file with a higher ratio is probably a zip bomb.
SUSPICIOUS, SUSPICIOUS_RATIO = 10_000_000, 100


def read_xlsx(path: Path, wanted: Sequence[str], others: bool = False) -> Iterator[FileTable]:
    """Read the first sheet; its first row that is not blank is the header, and all values are strings.

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


def _rows(path: Path) -> Iterator[Sequence[Any]]:
    """Yield [row number, cells] of each row that is not blank, as the reader prints them."""
    if path.stat().st_size == 0:
        raise UserError(f"{path}: the file is empty; give one with a text per row.")
    check_unpacked_size(path)
    with closing(printed_lines(path)) as lines:
        for line in lines:
            found = json.loads(line)
            if found == "whole":
                return
            if isinstance(found, dict) and "sheets" in found:
                _note_sheets(str(path), *found["sheets"])
                continue
            if isinstance(found, dict):
                raise _damaged(path, found["damaged"]) if "damaged" in found else _too_large(path, **found)
            yield from found
    # The operating system killed the reader before it could report a reason.
    raise _too_large(path, f"reading it takes more than {sheet_reader.SECONDS} seconds, or too much memory")


def printed_lines(path: Path) -> Generator[str | bytes]:
    """Yield the lines that `sheet_reader.py` prints about a file, in a process that ends with this generator."""
    limits = sheet_reader.MEMORY, sheet_reader.SECONDS
    with reader_output(sheet_reader.__file__, str(path), *limits) as printed:
        yield from printed


@cache  # a file is read more than once
def _note_sheets(path: str, first: str, *others: str) -> None:
    names = ", ".join(f"'{name}'" for name in others)
    _log.warning(
        f"{path}: only the first sheet, '{first}', is read, not {names}; to read another one, move it to the front or "
        "save it as a separate file."
    )


def check_unpacked_size(path: Path) -> None:
    """Refuse a file that unpacks to too much; zipfile never unpacks more than a file declares.

    Args:
        path: A ZIP archive, as every .xlsx file is.

    Raises:
        UserError: It is no ZIP archive, or its contents are too large.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise _damaged(path, f"{error!s:.80}") from error
    ratio = size / path.stat().st_size
    if size > MOST_UNPACKED or (size > SUSPICIOUS and ratio > SUSPICIOUS_RATIO):
        raise _too_large(path, f"it unpacks to {size / 1e6:,.0f} MB")


def _damaged(path: Path, reason: str) -> UserError:
    return UserError(f"{path}: not a whole Excel file ({reason}); save it again as .xlsx.")


def _too_large(path: Path, too_large: str) -> UserError:
    return UserError(f"{path}: the file is too large to be read as a spreadsheet ({too_large}); save it as .csv.")
