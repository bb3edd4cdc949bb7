from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hybridal.errors import UserError
from hybridal.task.table import column_position, decoded

Write = Callable[[str, str | bytes], Path]


def test_a_missing_column_lists_those_there_are() -> None:
    with pytest.raises(UserError, match=r"mail\.csv: there is no column 'txt'; its columns are text, label"):
        column_position(Path("mail.csv"), "txt", ["text", "label"])


def test_a_column_that_is_there_twice() -> None:
    with pytest.raises(UserError, match=r"mail\.csv: 2 columns are named 'text'; rename"):
        column_position(Path("mail.csv"), "text", ["text", "label", "text"])


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_undecodable_bytes_are_named_with_their_line(write: Write, mark: bytes) -> None:
    path = write("mail.csv", mark + b"text\nfine\ncaf\xe9\n")
    with pytest.raises(UserError, match=r"mail\.csv, line 3: the byte 0xe9 .* save the file as UTF-8"):
        decoded(path)


def test_a_byte_order_mark_is_no_text_but_a_later_one_is(write: Write) -> None:
    assert decoded(write("mail.csv", "\ufefftext\n\ufeffa")) == "text\n\ufeffa"
