"""How much a Parquet file holds once it is unpacked: of a few hundred bytes it can be gigabytes."""

from __future__ import annotations

from pathlib import Path

from hybridal.app.errors import TooLargeError

MOST_BYTES = 500_000_000


def insist(path: Path, most_rows: int) -> None:
    """Refuses a Parquet file that would fill the memory; what is no Parquet file is left to its reader."""
    import pyarrow
    from pyarrow import compute, parquet, types

    try:
        every = range(parquet.read_metadata(path).num_columns)
        # Words that are repeated are read once, and their lengths added up.
        with parquet.ParquetFile(path, read_dictionary=every) as file:
            words = [field.name for field in file.schema_arrow if types.is_dictionary(field.type)]
            groups = [file.metadata.row_group(group) for group in range(file.num_row_groups)]
            _check(path, file.metadata.num_rows, sum(group.total_byte_size for group in groups), most_rows)
            total = 0
            for batch in file.iter_batches(columns=words):
                for column in batch.columns:
                    lengths = compute.binary_length(column.dictionary).cast("int64")
                    total += compute.sum(lengths.take(column.indices)).as_py() or 0
                _check(path, file.metadata.num_rows, total, most_rows)
    except (pyarrow.ArrowException, OSError):
        return


def _check(path: Path, rows: int, total: int, most_rows: int) -> None:
    if rows > most_rows or total > MOST_BYTES:
        raise TooLargeError(
            f"{path}: unpacked it has {rows} rows and at least {total} bytes; "
            f"{most_rows} rows and {MOST_BYTES} bytes are the most."
        )
