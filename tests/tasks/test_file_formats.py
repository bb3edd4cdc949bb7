from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.tasks.file_formats import read_csv, read_json, read_jsonl, read_lines, read_tsv
from hybridal.tasks.table import joined

Write = Callable[[str, str | bytes], Path]

# Everything that UTF-8 can spell: NUL, control characters, quotes, separators and line breaks among it.
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1, max_size=5))
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_round_trip(write: Write, delimiter: str, rows: list[tuple[str, str]]) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([("text", "label"), *rows])
    path = write("mail.csv", file.getvalue())
    table = joined((read_tsv if delimiter == "\t" else read_csv)(path, ["label", "text"]))
    assert list(zip(table.columns["text"], table.columns["label"], strict=True)) == rows


def test_lines_are_counted_as_an_editor_does(write: Write) -> None:
    path = write("mail.csv", 'text,label\r\n"two\r\nlines",a\r\n\r\nlast,b\r\n')
    table = joined(read_csv(path, ["text"]))
    assert table.columns["text"] == ["two\r\nlines", "last"]
    assert table.places == [2, 5]


def test_a_very_long_text(write: Write) -> None:
    long = "x" * 5_000_000
    assert joined(read_csv(write("mail.csv", f"text\n{long}\n"), ["text"])).columns["text"] == [long]


def test_reading_leaves_the_limit_of_the_process_to_other_readers(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uploads are read in several threads: a reader that restores the limit breaks a concurrent one."""
    limits: list[int] = []
    monkeypatch.setattr(csv, "field_size_limit", limits.append)
    assert joined(read_csv(write("mail.csv", "text\nHello\n"), ["text"])).columns["text"] == ["Hello"]
    assert limits == []


def test_a_quote_left_open_names_the_line_where_its_row_begins(write: Write) -> None:
    path = write("mail.csv", 'text,label\nfine,a\n"open,b\nmore,c\nmore,d\n')
    with pytest.raises(UserError, match=r"mail\.csv, line 3: broken quoting"):
        joined(read_csv(path, ["text"]))


def test_text_after_a_closing_quote(write: Write) -> None:
    path = write("mail.csv", 'text,label\n"She wrote "hi" to me",b\n')
    with pytest.raises(UserError, match=r"mail\.csv, line 2: broken quoting .* twice"):
        joined(read_csv(path, ["text"]))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("mail.csv", "text,label\nHello, you,a\n", "line 2: 3 fields where the header has 2; .* a comma"),
        ("mail.tsv", "text\tlabel\nHello\ta\nHello\n", "line 3: 1 fields where the header has 2; .* a tab"),
    ],
)
def test_a_row_of_another_length(write: Write, name: str, content: str, message: str) -> None:
    reader = read_csv if name.endswith("csv") else read_tsv
    with pytest.raises(UserError, match=rf"{name}, {message}"):
        joined(reader(write(name, content), ["text"]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(), min_size=1, max_size=5), ascii=st.booleans(), end=st.sampled_from(["\n", "\r\n"]))
def test_jsonl_round_trip(write: Write, texts: list[str], ascii: bool, end: str) -> None:
    lines = [json.dumps({"text": text}, ensure_ascii=ascii) for text in texts]
    path = write("mail.jsonl", end.join(lines))
    assert joined(read_jsonl(path, ["text"])).columns["text"] == texts


@pytest.mark.parametrize(
    ("header", "delimiter"),
    [
        ("text,label", ","), ("text;label", ";"), ("text\tlabel", "\t"), ("text", ","), ("a;b,c", ","),
        ('"a;b;c",label', ","), ('"a,b,c";label', ";"),
    ],
)  # fmt: skip
def test_the_delimiter_is_that_which_divides_the_header_most(write: Write, header: str, delimiter: str) -> None:
    row = delimiter.join(f"cell {i}" for i in range(header.count(delimiter) + 1)) if header != "text" else "cell 0"
    if '"' in header:
        row = f"cell 0{delimiter}cell 1"
    [table] = read_csv(write("mail.csv", f"{header}\n{row}\n"), [], others=True)
    assert [values[0] for values in table.columns.values()] == row.split(delimiter)


def test_json_may_be_an_array_or_lines(write: Write) -> None:
    for content in ('\n [{"text": "a"}, {"text": "b", "n": 1}]', '{"text": "a"}\n{"text": "b", "n": 1}\n'):
        assert joined(read_json(write("mail.json", content), ["text", "n"])).columns["n"] == [None, 1]
    assert joined(read_json(write("mail.json", '["a", "b"]'), ["text"])).at(1).endswith("item 2")


def test_lines_end_only_at_line_feeds(write: Write) -> None:
    table = joined(read_lines(write("mail.txt", "a\u2028b\r\n\n  c\n"), ["text"]))
    assert (table.columns["text"], table.places) == (["a\u2028b", "  c"], [1, 3])


def test_blank_lines_count_but_are_no_rows(write: Write) -> None:
    table = joined(read_jsonl(write("mail.jsonl", '{"text": "a"}\n\n{"text": "b"}\n'), ["text"]))
    assert table.places == [1, 3]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "cut off', "broken JSON"),
        ("[" * 100_000, "broken JSON"),
        ('["text"]', "not a JSON object"),
    ],
)
def test_a_broken_line_is_named(write: Write, line: str, message: str) -> None:
    path = write("mail.jsonl", '{"text": "fine"}\n' + line + "\n")
    with pytest.raises(UserError, match=rf"mail\.jsonl, line 2: {message}.* per line"):
        joined(read_jsonl(path, ["text"]))


def test_a_key_that_no_line_has(write: Write) -> None:
    path = write("mail.jsonl", '{"text": "a"}\n{"text": "b", "kind": "ham"}\n')
    with pytest.raises(UserError, match=r"mail\.jsonl: there is no column 'label'; its columns are text, kind"):
        joined(read_jsonl(path, ["text", "label"]))
