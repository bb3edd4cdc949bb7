"""A file, a part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

PART = 1 << 20


def parts(file: BinaryIO) -> Iterator[bytes]:
    """What is left of an open file, which is closed at the end.

    >>> import io
    >>> list(parts(io.BytesIO(b"abc")))
    [b'abc']
    """
    with file:
        while part := file.read(PART):
            yield part
