"""Detect the encoding of a text file: UTF-8, UTF-16 with a byte order mark, or Windows-1252 of older spreadsheets."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from hybridal.errors import UserError

CHUNK_BYTES = 2**20
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@contextmanager
def opened(path: Path, newline: str) -> Iterator[TextIO]:
    """Open a file as text and skip its byte order mark.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.csv"
    >>> for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp1252"):
    ...     _ = path.write_bytes("é".encode(encoding))
    ...     with opened(path, newline="") as file:
    ...         print(file.read(), end=" ")
    é é é é
    """
    encoding = encoding_of(path)
    try:
        with path.open(encoding=encoding, newline=newline) as file:
            yield file
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not valid {encoding.upper()} ({error.reason}); save the file as UTF-8.") from error


def encoding_of(path: Path) -> str:
    """Return the encoding; this reads the whole file, because a single byte near its end may decide."""
    with path.open("rb") as file:
        first = file.read(4)
        if first.count(0) > 1:
            raise UserError(f"{path}: the file is UTF-32, or UTF-16 without a byte order mark; save it as UTF-8.")
        if mark := _MARKS.get(first[:2]):
            return mark
        file.seek(0)
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            while part := file.read(CHUNK_BYTES):
                decoder.decode(part)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            _check_windows(path)
            return "cp1252"
    return "utf-8-sig"


def _check_windows(path: Path) -> None:
    """Refuse a damaged UTF-8 file, and name the first invalid byte.

    Lines with valid UTF-8 beyond ASCII do not occur by chance, so a file that has some is UTF-8; as Windows-1252 every
    é would become Ã©.
    """
    first: tuple[int, int] | None = None
    is_windows = True
    with path.open("rb") as file:
        for line, data in enumerate(file, start=1):  # the byte of a line feed is never part of another character
            if data.isascii():
                continue
            try:
                data.decode()
                is_windows = False
            except UnicodeDecodeError as error:
                first = first or (line, data[error.start])
                is_windows = is_windows and _decodes(data, "cp1252")
    if first is not None and not is_windows:
        raise UserError(
            f"{path}, line {first[0]}: the byte 0x{first[1]:02x} is not valid UTF-8; save the file as UTF-8."
        )


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True
