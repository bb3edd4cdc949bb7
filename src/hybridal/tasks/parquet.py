"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hybridal.errors import UserError
from hybridal.tasks.table import CHUNK, FileTable, column_position

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
