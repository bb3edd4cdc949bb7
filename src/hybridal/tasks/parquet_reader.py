"""A program that sends columns of a Parquet file as Arrow data, with limits on memory, time and size.

A Parquet file of 300 bytes can unpack to gigabytes: one long string may stand for all rows, or one list may have a
billion elements. A separate process reads it, which the operating system ends at the limit. It imports nothing from
hybridal, to start quickly.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import IO, Any

MEMORY = 2 << 30  # bytes
SECONDS = 600  # of computing
VALUE_BYTES = 50  # about what a Python object takes
BUFFER = 1 << 20  # bytes of a column read ahead; without it, all columns of a row group


def send(path: str, wanted: Sequence[str], others: bool, rows: int, most: int, out: IO[bytes]) -> None:
    """Write a line with the names of all columns, a stream of Arrow batches, and a line with "whole".

    Args:
        path: The file.
        wanted: The columns to send, as far as the file has them.
        others: Send all columns that have a name of their own.
        rows: Rows in a batch.
        most: Bytes that the columns may take in memory.
        out: Where to write. If the file is damaged or too large, the last line is an object with the reason.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
            names = file.schema_arrow.names
            sent = [name for name in names if names.count(name) == 1 and (name in wanted or (others and name.strip()))]
            kinds = [_plain(file.schema_arrow.field(name).type) for name in sent]
            schema = pyarrow.schema([*zip(sent, kinds, strict=True)])
            _tell(names, out)
            unpacked = 0
            with pyarrow.ipc.new_stream(out, schema) as stream:
                for batch in file.iter_batches(rows, columns=sent, use_threads=False):
                    columns = [batch.column(name).cast(kind) for name, kind in zip(sent, kinds, strict=True)]
                    unpacked += sum(column.nbytes + VALUE_BYTES * _value_count(column) for column in columns)
                    if unpacked > most:
                        break
                    stream.write_batch(pyarrow.record_batch(columns, schema=schema))
        _tell({"too_large": f"it unpacks to more than {most / 1e6:,.0f} MB"} if unpacked > most else "whole", out)
    except MemoryError:
        _tell({"too_large": f"{rows:,} of its rows take more than {MEMORY >> 30} GB of memory"}, out)
    except Exception as error:  # a damaged file fails in whichever part of the library meets the damage
        _tell({"damaged": (str(error).splitlines() or ["no reason given"])[0].rstrip(".")}, out)


def _tell(found: object, out: IO[bytes]) -> None:
    out.write(json.dumps(found).encode() + b"\n")


def _plain(kind: Any) -> Any:
    """The type in which equal values do not share memory, so that its size tells what Python will need."""
    import pyarrow
    from pyarrow import types

    if isinstance(kind, pyarrow.BaseExtensionType):
        plain = _plain(kind.storage_type)
        return kind if plain == kind.storage_type else plain
    if types.is_dictionary(kind):
        return _plain(kind.value_type)
    if types.is_string_view(kind):
        return pyarrow.string()
    if types.is_binary_view(kind):
        return pyarrow.binary()
    if types.is_large_list(kind):
        return pyarrow.large_list(_plain(kind.value_type))
    if types.is_list(kind) or types.is_fixed_size_list(kind):
        return pyarrow.list_(_plain(kind.value_type))
    if types.is_map(kind):
        return pyarrow.map_(_plain(kind.key_type), _plain(kind.item_type))
    if types.is_struct(kind):
        return pyarrow.struct([(field.name, _plain(field.type)) for field in kind])
    if types.is_nested(kind):
        raise ValueError(f"it has a column of the type {kind}, which is not read")
    return kind


def _value_count(column: Any) -> int:
    """Values in an array, also those in its lists and structs, of which nulls may take no memory."""
    from pyarrow import types

    if types.is_struct(column.type):
        return len(column) + sum(map(_value_count, column.flatten()))
    if types.is_map(column.type):
        return len(column) + _value_count(column.keys) + _value_count(column.items)
    if types.is_list(column.type) or types.is_large_list(column.type):
        return len(column) + _value_count(column.flatten())
    return len(column)


if __name__ == "__main__":
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # the others reserve much more than they use
    send(sys.argv[1], **json.load(sys.stdin), out=sys.stdout.buffer)
