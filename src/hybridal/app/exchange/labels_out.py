"""Labels as a file: CSV for spreadsheets, JSONL and Parquet as they are."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from hybridal.app.exchange.cells import csv_lines
from hybridal.app.exchange.labels import COLUMNS
from hybridal.app.exchange.parts import parts
from hybridal.system.files import strict_json

Lines = Iterable[Mapping[str, Any]]

_AT_ONCE = 500


def as_csv(lines: Lines) -> Iterator[bytes]:
    """For spreadsheets: a cell that one would run as a formula begins with an apostrophe; answers are JSON."""
    return (part.encode() for part in csv_lines(COLUMNS, lines))


def as_jsonl(lines: Lines) -> Iterator[bytes]:
    """A JSON object a line, every text as it is."""
    for some in _batches(lines):
        yield "".join(strict_json(line) + "\n" for line in some).encode()


def as_parquet(lines: Lines) -> Iterator[bytes]:
    """A Parquet file; its end is known only when all is written, so it is made beside and then sent."""
    import pyarrow as pa
    from pyarrow import parquet

    words, truth = pa.string(), pa.bool_()
    answer = pa.struct(
        [(name, words) for name in ("person", "action", "class", "comment", "at")] + [("flagged", truth)]
    )
    kinds = {"flagged": truth, "answers": pa.list_(answer)}
    schema = pa.schema([(column, kinds.get(column, words)) for column in COLUMNS])
    file = tempfile.TemporaryFile()  # noqa: SIM115
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for some in _batches(lines):
            writer.write_table(pa.Table.from_pylist(some, schema=schema))
    file.seek(0)
    return parts(file)


FORMATS: Mapping[str, Callable[[Lines], Iterator[bytes]]] = {"csv": as_csv, "jsonl": as_jsonl, "parquet": as_parquet}


def _batches(lines: Lines) -> Iterator[list[Any]]:
    some: list[Any] = []
    for line in lines:
        some.append(line)
        if len(some) == _AT_ONCE:
            yield some
            some = []
    if some:
        yield some
