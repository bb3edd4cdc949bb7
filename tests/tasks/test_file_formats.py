from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybridal.errors import UserError
from hybridal.tasks import file_formats
from hybridal.tasks.file_formats import read_csv, read_json, read_jsonl, read_lines, read_parquet, read_tsv
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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "mail.parquet"
    kinds = pyarrow.array(["ham", None, "spam"]).dictionary_encode()
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a", "b\0c", "d"], "kind": kinds, "n": [1.0, None, 3.0]}), path)
    return path


def test_columns_of_any_type(path: Path) -> None:
    table = joined(read_parquet(path, ["n", "text", "kind"]))
    assert table.columns == {"n": [1.0, None, 3.0], "text": ["a", "b\0c", "d"], "kind": ["ham", None, "spam"]}
    assert table.at(2) == f"{path}, row 3"


@pytest.mark.parametrize("keep", [3, 0.5])
def test_a_truncated_file(path: Path, keep: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(keep if keep > 1 else len(data) * keep)])
    with pytest.raises(UserError, match=r"mail\.parquet: not a whole Parquet file \(.+\); copy"):
        joined(read_parquet(path, ["text"]))


def test_parquet_file_damaged_in_the_middle(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4:40] = b"\xff" * 36
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"mail\.parquet: not a whole Parquet file"):
        joined(read_parquet(path, ["text"]))


def test_a_missing_column(path: Path) -> None:
    with pytest.raises(UserError, match=r"no column 'label'; its columns are text, kind, n"):
        joined(read_parquet(path, ["text", "label"]))


def test_a_string_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "mail.parquet"
    raw = pyarrow.array([b"fine", b"caf\xe9"])
    strings = pyarrow.StringArray.from_buffers(2, raw.buffers()[1], raw.buffers()[2])
    pyarrow.parquet.write_table(pyarrow.table({"text": strings}), path)
    with pytest.raises(UserError, match=r"mail\.parquet, row 2, column 'text': not valid UTF-8"):
        joined(read_parquet(path, ["text"]))


@pytest.mark.parametrize("as_dictionary", [True, False])
def test_a_parquet_file_of_a_few_bytes_does_not_fill_the_memory(
    as_dictionary: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 5000, pyarrow.int32()), pyarrow.array(["a" * 1000]))
    column = long if as_dictionary else long.dictionary_decode()
    path = tmp_path / "bomb.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": column}), path)
    assert path.stat().st_size < 10_000
    assert sum(len(table.places) for table in read_parquet(path, ["text"])) == 5000
    monkeypatch.setattr(file_formats, "SUSPICIOUS", 3_000_000)
    with pytest.raises(UserError, match=r"bomb\.parquet: this small file unpacks to more than 3 MB; save it as \.csv"):
        next(read_parquet(path, ["text"]))
