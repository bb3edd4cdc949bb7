"""Read a Parquet file in a separate process (`parquet_reader.py`), which may fail safely."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

from hybridal.errors import UserError
from hybridal.tasks import parquet_reader
from hybridal.tasks.reader_process import reader_output
from hybridal.tasks.table import CHUNK, FileTable, column_positions

# Values that repeat compress to nothing; a file with a higher ratio is probably made to fill the memory.
SUSPICIOUS, SUSPICIOUS_RATIO = 200_000_000, 100


def read_parquet(path: Path, wanted: Sequence[str], others: bool = False) -> Iterator[FileTable]:
    """Read a Parquet file.

    >>> import pyarrow, pyarrow.parquet, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mail.parquet"
    >>> pyarrow.parquet.write_table(pyarrow.table({"text": ["Hello", "You"], "label": [0, 1]}), path)
    >>> [table.columns["label"] for table in read_parquet(path, ["label"])]
    [[0, 1]]
    """
    # Imported here, because it takes a quarter of a second.
    import pyarrow

    if path.stat().st_size == 0:
        raise UserError(f"{path}: the file is empty; give one with a text per row.")
    most = max(SUSPICIOUS, SUSPICIOUS_RATIO * path.stat().st_size)
    with sent(path, wanted=[*wanted], others=others, rows=CHUNK, most=most) as stream:
        column_positions(path, wanted, _told(path, stream), others)
        first = 1
        try:
            for batch in pyarrow.ipc.open_stream(stream):
                columns = {name: _values(path, name, batch.column(name), first) for name in batch.schema.names}
                yield FileTable(path, columns, "row", range(first, first + len(batch)))
                first += len(batch)
        except (pyarrow.ArrowException, OSError) as error:
            raise _ended(path) from error
        _told(path, stream)


def sent(path: Path, **request: Any) -> AbstractContextManager[IO[bytes]]:
    """What `parquet_reader.send` writes about a file, from a process that ends with this context."""
    return reader_output(
        parquet_reader.__file__,
        str(path),
        parquet_reader.MEMORY,
        parquet_reader.SECONDS,
        json.dumps(request).encode(),
    )


def _told(path: Path, stream: IO[bytes]) -> list[str]:
    """The next line of the program: the names of the columns, or how it ended."""
    match json.loads(stream.readline() or "null"):
        case {"damaged": reason}:
            raise UserError(f"{path}: not a whole Parquet file ({reason}); copy or write it again.")
        case {"too_large": reason}:
            raise UserError(f"{path}: the file is too large to be read as Parquet ({reason}); save it as .csv.")
        case list(names):
            return names
        case "whole":
            return []
    raise _ended(path)


def _ended(path: Path) -> UserError:
    """The program ended without a reason: the library failed on a damaged file, or the system stopped it at a limit."""
    return UserError(
        f"{path}: not a whole Parquet file, or one that takes more than {parquet_reader.SECONDS} seconds or "
        f"{parquet_reader.MEMORY >> 30} GB of memory to read; write it again, or save it as .csv."
    )


def _values(path: Path, name: str, column: Any, first: int) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError, LookupError) as error:
        # Parquet checks neither UTF-8 nor whether Python knows a date or time zone. Converting cell by cell is slow, so
        # do it only to find the row.
        for row, cell in enumerate(column, start=first):
            try:
                cell.as_py()
            except UnicodeDecodeError:
                raise UserError(f"{path}, row {row}, column '{name}': not valid UTF-8; write it as UTF-8.") from error
            except (ValueError, OverflowError, LookupError):
                where = f"{path}, row {row}, column '{name}'"
                raise UserError(f"{where}: a {column.type} that cannot be read; write it as a string.") from error
        raise
    return values
