from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.tasks import encoding as module
from hybridal.tasks.encoding import encoding_of, opened

Write = Callable[[str, str | bytes], Path]


def read(path: Path) -> str:
    with opened(path, newline="") as file:
        return file.read()


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_damaged_utf8_is_named_and_not_taken_for_something_else(write: Write, mark: bytes) -> None:
    path = write("mail.csv", mark + "text\nnaïve\n".encode() + b"caf\xe9\n")
    with pytest.raises(UserError, match=r"mail\.csv, line 3: the byte 0xe9 .* save the file as UTF-8"):
        read(path)


def test_a_byte_order_mark_is_no_text_but_a_later_one_is(write: Write) -> None:
    assert read(write("mail.csv", "\ufefftext\n\ufeffa")) == "text\n\ufeffa"


def test_encodings_of_spreadsheets_are_read(write: Write) -> None:
    words = "text;label\r\n„Grüße“ – 10 €;café\r\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp1252"):
        assert read(write("mail.csv", words.encode(encoding))) == words
    big = b"\xfe\xff" + words.encode("utf-16-be")
    assert read(write("mail.csv", big)) == words


def test_encoding_depends_on_the_whole_file(write: Write) -> None:
    path = write("mail.csv", b"x" * 3_000_000 + b"\xe9")
    assert encoding_of(path) == "cp1252"
    assert read(path)[-1] == "é"


def test_a_byte_that_windows_does_not_know_either(write: Write) -> None:
    with pytest.raises(UserError, match=r"line 2: the byte 0xe9 is not valid UTF-8"):
        read(write("mail.csv", b"text\ncaf\xe9\n\x81\n"))


def test_truncated_utf16_is_reported(write: Write) -> None:
    with pytest.raises(UserError, match=r"mail\.csv: not valid UTF-16 .* save the file as UTF-8"):
        read(write("mail.csv", "text\n".encode("utf-16") + b"\x00\xd8\x00"))


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be"])
def test_utf32_and_utf16_without_a_mark_are_refused_by_name(write: Write, encoding: str) -> None:
    with pytest.raises(UserError, match=r"mail\.csv: .* UTF-32, or UTF-16 without a byte order mark; save it as UTF-8"):
        read(write("mail.csv", "text,label\n".encode(encoding)))


def test_utf32_with_the_big_endian_mark_is_refused(write: Write) -> None:
    with pytest.raises(UserError, match="UTF-32"):
        read(write("mail.csv", b"\x00\x00\xfe\xff" + "text\n".encode("utf-32-be")))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=["Cs"])), at_once=st.integers(1, 5))
def test_utf8_is_always_utf8(write: Write, text: str, at_once: int) -> None:
    path = write("mail.csv", "x" + text)
    before, module.CHUNK_BYTES = module.CHUNK_BYTES, at_once
    try:
        assert encoding_of(path) == "utf-8-sig"
    finally:
        module.CHUNK_BYTES = before
