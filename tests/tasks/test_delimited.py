from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.tasks.delimited import read_csv, read_tsv
from hybridal.tasks.table import joined

Write = Callable[[str, str | bytes], Path]

# Everything that UTF-8 can spell: NUL, control characters, quotes, separators and line breaks among it.
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1, max_size=5))
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_whatever_is_written_is_read(write: Write, delimiter: str, rows: list[tuple[str, str]]) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([("text", "label"), *rows])
    path = write("mail.csv", file.getvalue())
    table = joined((read_csv if delimiter == "," else read_tsv)(path, ["label", "text"]))
    assert list(zip(table.columns["text"], table.columns["label"], strict=True)) == rows


def test_lines_are_counted_as_an_editor_does(write: Write) -> None:
    path = write("mail.csv", 'text,label\r\n"two\r\nlines",a\r\n\r\nlast,b\r\n')
    table = joined(read_csv(path, ["text"]))
    assert table.columns["text"] == ["two\r\nlines", "last"]
    assert table.places == [2, 5]


def test_a_very_long_text(write: Write) -> None:
    limit = csv.field_size_limit()
    long = "x" * 5_000_000
    assert joined(read_csv(write("mail.csv", f"text\n{long}\n"), ["text"])).columns["text"] == [long]
    assert csv.field_size_limit() == limit


def test_a_quote_left_open_names_the_line_where_its_row_begins(write: Write) -> None:
    path = write("mail.csv", 'text,label\nfine,a\n"open,b\nmore,c\nmore,d\n')
    with pytest.raises(UserError, match=r"mail\.csv, line 3: broken quoting"):
        joined(read_csv(path, ["text"]))


def test_text_after_a_closing_quote(write: Write) -> None:
    path = write("mail.csv", 'text,label\n"She said "hi" to me",b\n')
    with pytest.raises(UserError, match=r"mail\.csv, line 2: broken quoting .* twice"):
        joined(read_csv(path, ["text"]))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("mail.csv", "text,label\nHello, you,a\n", "line 2: 3 fields where the header has 2; .* a comma"),
        ("mail.tsv", "text\tlabel\nHello\ta\nHello\n", "line 3: 1 fields where the header has 2; .* a tab"),
    ],
)
def test_a_row_of_another_length(write: Write, name: str, content: str, said: str) -> None:
    reader = read_csv if name.endswith("csv") else read_tsv
    with pytest.raises(UserError, match=rf"{name}, {said}"):
        joined(reader(write(name, content), ["text"]))
