from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path

import openpyxl
import pyarrow
import pyarrow.parquet
import pytest

from hybridal.errors import UserError
from hybridal.tasks import file_formats, parquet_files, read
from hybridal.tasks.read import count_rows, read_rows, stream_rows

pytestmark = pytest.mark.usefixtures("parquet_here")

Write = Callable[[str, str | bytes], Path]


def lines(*objects: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in objects)


def test_all_formats_of_columns_give_the_same(write: Write, tmp_path: Path) -> None:
    texts, labels, ids = ['Hello, "you"', "two\nlines\tand a tab"], ["ham", None], ["x1", "x2"]
    quoted = ['"Hello, ""you"""', '"two\nlines\tand a tab"']
    columns = {"id": ids, "text": texts, "kind": labels}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "mail.parquet")
    write("mail.csv", f"id,text,kind\nx1,{quoted[0]},ham\nx2,{quoted[1]},\n")
    write("mail.TSV", f"id\ttext\tkind\nx1\t{quoted[0]}\tham\nx2\t{quoted[1]}\t\n")
    write("mail.jsonl", lines({"id": "x1", "text": texts[0], "kind": "ham"}, {"id": "x2", "text": texts[1]}))
    write(
        "mail.json", json.dumps([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)])
    )
    book = openpyxl.Workbook()
    for row in ([*columns], *zip(*columns.values(), strict=True)):
        book.active.append(row)
    book.save(tmp_path / "mail.xlsx")
    semicolons = f"id;text;kind\nx1;{quoted[0]};ham\nx2;{quoted[1]};\n"
    write("windows.csv", semicolons.encode("cp1252"))
    write("excel.csv", semicolons.replace(";", "\t").encode("utf-16"))
    tables = ("mail.csv", "mail.TSV", "windows.csv", "excel.csv")
    for name in (*tables, "mail.jsonl", "mail.json", "mail.xlsx", "mail.parquet"):
        rows = read_rows(tmp_path / name, "text", "kind", "id")
        assert (rows.texts, rows.labels, rows.ids, rows.numbered) == (texts, labels, ids, False)


def test_words_like_na_and_null_stay_text(write: Write) -> None:
    words = ["NA", "null", "None", "nan", "N/A", "0", "false"]
    path = write("mail.csv", "text,label\n" + "".join(f"{word},{word}\n" for word in words))
    rows = read_rows(path, "text", "label")
    assert rows.texts == rows.labels == words


def test_labels_and_ids_that_are_no_strings(write: Write) -> None:
    values = [3, 3.0, True, None, float("nan"), " padded ", "", 2.5]
    path = write("mail.jsonl", lines(*({"text": "a", "label": value, "n": i} for i, value in enumerate(values))))
    rows = read_rows(path, "text", "label", "n")
    assert rows.labels == ["3", "3", "true", None, None, "padded", None, "2.5"]
    assert rows.ids == ["0", "1", "2", "3", "4", "5", "6", "7"]


def test_without_an_id_column_rows_are_counted_from_one(write: Write) -> None:
    rows = read_rows(write("mail.csv", "text\na\n\nb\n"), "text")
    assert rows.ids == ["1", "2"]
    assert rows.labels == [None, None]
    assert rows.numbered


def test_a_file_with_too_many_rows_is_not_read_to_its_end(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_formats, "CHUNK", 2)
    path = write("x.csv", 'text\na\nb\nc\nd\n""\n')  # the last row has no text, which is allowed
    with pytest.raises(UserError, match="more than 2 rows"):
        read_rows(path, "text", most=2)
    with pytest.raises(UserError, match="empty"):
        read_rows(path, "text", most=9)


def test_all_empty_texts_are_counted_at_once(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_formats, "CHUNK", 4)
    few = write("few.csv", 'text\na\n""\nb\nc\nd\n" "\n')
    with pytest.raises(
        UserError,
        match=r"few\.csv, line 3, column 'text': the text is empty, 2 in all \(then 7\); fill .* `drop_empty`",
    ):
        read_rows(few, "text")
    many = write("many.csv", "text\na\n" + '""\n' * 40)
    with pytest.raises(
        UserError, match=r"line 3, .* 40 in all \(then 4, 5, 6, 7, 8, 9, 10, 11, 12, …\); fill them in, or"
    ):
        count_rows(many, "text")


def test_empty_texts_are_left_out_by_choice(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_formats, "CHUNK", 2)
    path = write("x.csv", 'text,id\n"",\n"\u200b",\na,1\n" ",\nb,2\n"",\n')
    rows = read_rows(path, "text", id="id", drop_empty=True)
    assert (rows.texts, rows.ids, rows.empty) == (["a", "b"], ["1", "2"], 4)
    assert [rows.table.at(row) for row in (0, 1)] == [f"{path}, line 4", f"{path}, line 6"]
    assert read_rows(path, "text", drop_empty=True).ids == ["3", "5"]  # numbers of the file's rows
    assert count_rows(path, "text", drop_empty=True) == (2, 4)
    with pytest.raises(UserError, match="every text in the column 'text' is empty"):
        read_rows(write("none.csv", 'text\n""\n""\n'), "text", drop_empty=True)


def test_first_of_identical_texts_is_kept_on_request_with_its_label(write: Write) -> None:
    path = write("x.csv", "text,kind,id\na,,1\nb,ham,2\na,spam,1\na,ham,3\nb,,2\n")
    rows = read_rows(path, "text", "kind", "id", drop_duplicates=True)
    assert (rows.texts, rows.labels, rows.ids, rows.duplicates) == (["a", "b"], ["spam", "ham"], ["1", "2"], 3)
    assert read_rows(path, "text", "kind").duplicates == 0


def test_other_columns_are_read_when_asked_for(write: Write) -> None:
    path = write("x.jsonl", lines({"text": "a", "n": 1}, {"text": "b", "who": "me"}))
    assert read_rows(path, "text", others=True).table.columns == {
        "text": ["a", "b"],
        "n": [1, None],
        "who": [None, "me"],
    }
    assert [*read_rows(path, "text").table.columns] == ["text"]


def test_hostile_texts_survive(write: Write) -> None:
    hostile = ["a\0b", "\x1b[31mred\x07", "\u202eright to left", "e\u0301" * 1000, "👩‍👩‍👧", "\ufeff.", "a\u2028b\x85c"]
    rows = read_rows(write("mail.jsonl", lines(*({"text": text} for text in hostile))), "text")
    assert rows.texts == hostile
    quoted = "".join('"' + text + '"\n' for text in hostile)
    assert read_rows(write("mail.csv", "text\n" + quoted), "text").texts == hostile


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("mail.csv", "", "mail.csv: the file is empty"),
        ("mail.tsv", "\n\n", "mail.tsv: the file is empty"),
        ("mail.jsonl", "", "mail.jsonl: the file is empty"),
        ("mail.parquet", "", "mail.parquet: the file is empty"),
        ("mail.csv", "text,label,id\n", "mail.csv: the file has no rows"),
        ("mail.xls", "PK", "mail.xls: the extension '.xls' is not known; use one of .csv, .tsv, .txt, .jsonl, .json, "),
        ("mail.xlsx", "PK", "mail.xlsx: not a whole Excel file (File is not a zip file); save it again"),
        ("mail.xlsx", "", "mail.xlsx: the file is empty"),
        ("mail.json", "[", "mail.json: broken JSON"),
        ("mail.json", "[3]", "mail.json, item 1: not a JSON object"),
        ("mail.txt", "a\n", "mail.txt: there is no column 'label'; its columns are text"),
        (
            "mail.csv",
            "text;label;id\na;b;1;2\n",
            "line 2: 4 fields where the header has 3; put a text that contains a semi",
        ),
        ("mail.csv", "text,label,id\n\u200b \u200d,b,1\n", "mail.csv, line 2, column 'text': the text is empty"),
        ("mail", "text\n", "mail: the extension '' is not known"),
        (
            "mail.csv",
            "review,label,id\na,b,c\n",
            "mail.csv: there is no column 'text'; its columns are review, label, id",
        ),
        ("mail.csv", "text,label,id\na,b,1\n  ,b,2\n", "mail.csv, line 3, column 'text': the text is empty"),
        (
            "mail.csv",
            'text,label,id\n"a\nb",b,1\nc,b,2\nd,b,1\n',
            "mail.csv, line 5, column 'id': the id '1' is also that of line 2; make",
        ),
        ("mail.csv", "text,label,id\na,b,\n", "mail.csv, line 2, column 'id': the id is empty"),
        ("mail.csv", b"text,label,id\na,b,1\n\x81,b,2\n", "mail.csv, line 3: the byte 0x81 is not valid UTF-8"),
        (
            "mail.jsonl",
            lines({"text": "a", "label": "b", "id": 1}, {"label": "b", "id": 2}),
            "mail.jsonl, line 2, column 'text': the text is empty",
        ),
        (
            "mail.jsonl",
            lines({"text": 7, "label": "b", "id": 1}),
            "line 1, column 'text': 7 is not a text; write it as",
        ),
        (
            "mail.json",  # as pandas writes a frame unless it is told otherwise
            '{"text": {"0": "a", "1": "b"}, "label": {"0": "x", "1": "y"}, "id": {"0": 1, "1": 2}}',
            "mail.json, line 1, column 'text': {'0': 'a', '1': 'b'} is not a text; write a row for each text",
        ),
        (
            "mail.jsonl",
            lines({"text": "a", "label": ["b"], "id": 1}),
            "line 1, column 'label': ['b']; each text has exactly one label",
        ),
        (
            "mail.jsonl",
            '{"text": "a", "label": -Infinity, "id": 1}',
            "line 1, column 'label': -inf is not a name; write a",
        ),
        (
            "mail.csv",
            f"text,label,id\na,{'s' * 100_000},1\n",
            f"mail.csv, line 2, column 'label': the label has 100,000 characters ('{'s' * 40}…'); a class name has at",
        ),
        ("mail.jsonl", '{"text": "a", "label": "x", "id": 1e999}', "line 1, column 'id': inf is not a name; write a"),
        ("mail.jsonl", lines({"text": "a", "label": "x", "id": ["b"]}), "line 1, column 'id': ['b'] is not a name"),
        ("mail.jsonl", lines({"text": ["a", "b"], "label": "x", "id": 1}), "is not a text; pairs of texts are not"),
        (
            "mail.jsonl",
            lines({"text": "a\ud83d", "label": "b", "id": 1}),
            "mail.jsonl, line 1, column 'text': U+D83D is half a character",
        ),
        (
            "mail.jsonl",
            lines({"text": "a", "label": "b", "id": "\ude00"}),
            "mail.jsonl, line 1, column 'id': U+DE00 is half a character",
        ),
    ],
)
def test_bad_input_is_refused_with_file_and_row(write: Write, name: str, content: str | bytes, expected: str) -> None:
    path = write(name, content)
    with pytest.raises(UserError) as caught:
        read_rows(path, "text", "label", "id")
    message = str(caught.value)
    assert expected in message
    assert message.startswith(str(path))
    assert message.endswith(".")
    assert "\n" not in message


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"mail\.csv: there is no such file"):
        read_rows(tmp_path / "mail.csv", "text")


def test_an_address_is_no_path() -> None:
    with pytest.raises(UserError, match=r"^https://example\.com/mail\.csv: texts are not read from the web; download"):
        read_rows("https://example.com/mail.csv", "text")


def test_a_folder_with_the_name_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "mail.csv").mkdir()
    with pytest.raises(UserError, match=r"mail\.csv: cannot be read"):
        read_rows(tmp_path / "mail.csv", "text")


class TestPieces:
    """Files of more rows than a reader gives at a time."""

    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (file_formats, parquet_files):
            monkeypatch.setattr(module, "CHUNK", 3)

    @pytest.mark.parametrize(
        ("name", "count"),
        [*product(["mail.csv", "mail.jsonl"], [1, 3, 4, 6, 8]), *product(["mail.parquet"], [3, 8])],
    )
    def test_chunks_make_up_the_whole_file(self, write: Write, tmp_path: Path, name: str, count: int) -> None:
        columns = {key: [f"{key} {row}" for row in range(count)] for key in ("id", "text", "label")}
        objects = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        write("mail.jsonl", lines(*objects))
        write(
            "mail.csv", "".join(",".join(row) + "\n" for row in [list(columns), *zip(*columns.values(), strict=True)])
        )
        pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "mail.parquet")
        for id, ids in (("id", columns["id"]), (None, [str(row + 1) for row in range(count)])):
            pieces = list(stream_rows(tmp_path / name, "text", "label", id))
            whole = read_rows(tmp_path / name, "text", "label", id)
            assert [len(piece) for piece in pieces] == [3] * (count // 3) + [count % 3] * (count % 3 > 0)
            assert whole.ids == [one for piece in pieces for one in piece.ids] == ids
            assert whole.texts == [one for piece in pieces for one in piece.texts] == columns["text"]
            assert whole.labels == [one for piece in pieces for one in piece.labels] == columns["label"]
            places = [piece.table.at(row) for piece in pieces for row in range(len(piece))]
            assert [whole.table.at(row) for row in range(count)] == places
            assert count_rows(tmp_path / name, "text", "label", id) == (count, 0)

    def test_a_column_that_first_appears_late(self, write: Write) -> None:
        objects = [{"text": str(row), **({"label": "ham"} if row == 7 else {})} for row in range(9)]
        rows = read_rows(write("mail.jsonl", lines(*objects)), "text", "label")
        assert rows.labels == [None] * 7 + ["ham", None]

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ("text,id\na,1\nb,2\nc,3\n,4\n", "line 5, column 'text': the text is empty"),
            ("text,id\na,1\nb,2\nc,3\nd\n", "line 5: 1 fields where the header has 2"),
            ('text,id\na,1\nb,2\nc,3\n"d,4\n', "line 5: broken quoting"),
            ("text,id\na,1\nb,2\nc,3\nd,4\ne,2\n", "line 6, column 'id': the id '2' is also that of line 3"),
        ],
    )
    def test_bad_row_far_down_is_named(self, write: Write, content: str, expected: str) -> None:
        path = write("mail.csv", content)
        for reading in (read_rows, count_rows):
            with pytest.raises(UserError) as caught:
                reading(path, "text", id="id")
            assert str(caught.value).startswith(f"{path}, {expected}")

    def test_bytes_of_parquet_far_down(self, tmp_path: Path) -> None:
        raw = pyarrow.array([b"fine"] * 4 + [b"caf\xe9"])
        strings = pyarrow.StringArray.from_buffers(5, raw.buffers()[1], raw.buffers()[2])
        pyarrow.parquet.write_table(pyarrow.table({"text": strings}), tmp_path / "mail.parquet")
        with pytest.raises(UserError, match=r"mail\.parquet, row 5, column 'text': not valid UTF-8"):
            count_rows(tmp_path / "mail.parquet", "text")

    def test_ids_of_which_only_the_hashes_are_equal(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(read, "hash", lambda _: 1, raising=False)
        assert count_rows(write("mail.csv", "text,id\na,1\nb,2\n"), "text", id="id") == (2, 0)
