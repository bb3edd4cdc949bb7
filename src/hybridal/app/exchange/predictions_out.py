"""What the model says of every text, as the trainer wrote it down last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from hybridal.app.errors import MissingError
from hybridal.app.exchange.cells import csv_lines
from hybridal.app.exchange.parts import parts

FILE = "predictions.parquet"
_AT_ONCE = 1000


def predictions(exports: Path) -> BinaryIO:
    """The file, opened: newer predictions that replace it do not disturb who is reading it."""
    try:
        return (exports / FILE).open("rb")
    except FileNotFoundError as error:
        raise MissingError("There are no predictions yet; ask for them first (Score all texts).") from error


def as_csv(file: BinaryIO) -> Iterator[bytes]:
    """For spreadsheets."""
    from pyarrow import parquet

    with file:
        table = parquet.ParquetFile(file)
        rows = (row for batch in table.iter_batches(_AT_ONCE) for row in batch.to_pylist())
        for part in csv_lines(table.schema_arrow.names, rows):
            yield part.encode()


FORMATS: Mapping[str, Callable[[BinaryIO], Iterator[bytes]]] = {"csv": as_csv, "parquet": parts}
