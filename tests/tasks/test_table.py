from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.tasks.table import FileTable, NoColumnError, column_position, joined, opened

Write = Callable[[str, str | bytes], Path]


def read(path: Path) -> str:
    with opened(path, newline="") as file:
        return file.read()


def test_a_missing_column_lists_those_there_are() -> None:
    with pytest.raises(NoColumnError) as told:
        column_position(Path("mail.csv"), "txt", ["text", "label"])
    assert told.value.found == "mail.csv: there is no column 'txt'; its columns are text, label"
    assert str(told.value) == f"{told.value.found}: name yours with `text`, `label` and `id`."


def test_a_column_that_is_there_twice() -> None:
    with pytest.raises(UserError, match=r"mail\.csv: 2 columns are named 'text'; rename"):
        column_position(Path("mail.csv"), "text", ["text", "label", "text"])


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_undecodable_bytes_are_named_with_their_line(write: Write, mark: bytes) -> None:
    path = write("mail.csv", mark + b"text\nfine\ncaf\xe9\n")
    with pytest.raises(UserError, match=r"mail\.csv, line 3: the byte 0xe9 .* save the file as UTF-8"):
        read(path)


def test_a_byte_order_mark_is_no_text_but_a_later_one_is(write: Write) -> None:
    assert read(write("mail.csv", "\ufefftext\n\ufeffa")) == "text\n\ufeffa"


def test_what_stands_before_an_undecodable_byte_is_read(write: Write) -> None:
    path = write("mail.csv", b"\xc3\xa9\r\n" * 100_000 + b"\xc3")
    with opened(path, newline="") as file:
        assert next(file) == "é\r\n"
    with pytest.raises(UserError, match=r"mail\.csv, line 100001: the byte 0xc3 "):
        read(path)


@given(st.lists(st.lists(st.text(max_size=3), max_size=4), min_size=1, max_size=5))
def test_pieces_join_up(pieces: list[list[str]]) -> None:
    path, line = Path("mail.csv"), count(2)
    tables = [
        FileTable(path, {"text": texts, "n": [1] * len(texts)}, "line", [next(line) for _ in texts]) for texts in pieces
    ]
    whole = joined(iter(tables))
    texts = [text for piece in pieces for text in piece]
    assert whole.columns == {"text": texts, "n": [1] * len(texts)}
    assert [whole.at(row) for row in range(len(texts))] == [f"mail.csv, line {row + 2}" for row in range(len(texts))]
