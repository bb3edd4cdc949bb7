from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from hybridal.app.app_errors import TooLargeError
from hybridal.app.labelling.text_source import check_unpacked_size, preview_file, read_source
from hybridal.app.labelling.texts import LONGEST_ID, LONGEST_TEXT, Row
from hybridal.errors import UserError
from hybridal.tasks.columns import Columns


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    path = tmp_path / "mail.csv"
    path.write_text("body,kind,key\nHello,ham,x1\nWIN,spam,x2\nYou,,x3\nOld,news,x4\n")
    return path


def test_a_file_gives_rows_and_the_classes_that_it_knows(mail: Path) -> None:
    found = read_source(mail, text="body", label="kind", id="key")
    assert found.rows[2] == Row("x3", "You", None)
    assert (found.name, found.classes, found.numbered) == ("mail", ("ham", "news", "spam"), False)


def test_all_other_columns_are_the_context_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "mail.jsonl"
    lines = [
        {"text": "a", "who": " Ada ", "n": 3, "tags": ["x", "é"], "none": None},
        {"text": "b", "half": "\ud800", "who": ""},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = read_source(path)
    assert found.rows == [
        Row("1", "a", None, {"who": "Ada", "n": "3", "tags": '["x", "é"]'}),
        Row("2", "b", None, {"half": "?"}),
    ]


def test_rows_of_classes_that_are_not_asked_for_are_left_out(mail: Path) -> None:
    found = read_source(mail, text="body", label="kind", classes=["spam", "ham"])
    assert ([row[0] for row in found.rows], found.classes) == (["1", "2", "3"], ("spam", "ham"))


def test_misspelt_class_is_reported(mail: Path) -> None:
    with pytest.raises(UserError, match="no row has the class 'spma'"):
        read_source(mail, text="body", label="kind", classes=["spma", "ham"])


def test_classes_without_labels_must_be_at_least_two(mail: Path) -> None:
    assert read_source(mail, text="body", classes=["x", "y"]).classes == ("x", "y")
    assert read_source(mail, text="body").classes == ()
    with pytest.raises(UserError, match="name two or more"):
        read_source(mail, text="body", classes=["x"])


@pytest.mark.parametrize(("column", "longest"), [("text", LONGEST_TEXT), ("id", LONGEST_ID)])
def test_overlong_text_is_reported_with_its_row(tmp_path: Path, column: str, longest: int) -> None:
    path = tmp_path / "mail.jsonl"
    fits, too_long = ({"text": "a", "id": str(more), column: "x" * (longest + more)} for more in (0, 1))
    path.write_text(f"{json.dumps(fits)}\n")
    assert len(read_source(path, id="id").rows) == 1
    path.write_text(f"{json.dumps(fits)}\n{json.dumps(too_long)}\n")
    with pytest.raises(UserError, match=f"mail.jsonl, line 2: the {column} has {longest + 1} characters"):
        read_source(path, text="text", id="id")


def test_file_errors_are_passed_on(mail: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"mail.csv.*'text'"):
        read_source(mail)
    with pytest.raises(UserError, match="there is no such file"):
        read_source(tmp_path / "none.csv")
    half = tmp_path / "half.jsonl"
    half.write_text('{"text": "a \\ud800"}\n')
    with pytest.raises(UserError, match="half a character"):
        read_source(half)


def sheet(folder: Path, **columns: Any) -> Path:
    path = folder / "x.parquet"
    pyarrow.parquet.write_table(pyarrow.table(columns), path, compression="zstd")
    return path


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(), pyarrow.binary()])
def test_a_small_file_that_is_large_inside_is_refused(
    tmp_path: Path, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sheet(tmp_path, text=pyarrow.array([b"x" * 1000] * 600, kind), n=[*range(600)])
    check_unpacked_size(path, 1000)
    monkeypatch.setattr("hybridal.app.labelling.text_source.MOST_BYTES", 599_999)
    assert path.stat().st_size < 10_000
    with pytest.raises(TooLargeError, match="600 rows and at least 600000 bytes"):
        check_unpacked_size(path, 1000)


def test_more_rows_than_are_taken_are_refused_unread(tmp_path: Path) -> None:
    path = sheet(tmp_path, n=[0] * 1001)
    with pytest.raises(TooLargeError, match="1001 rows"):
        check_unpacked_size(path, 1000)
    check_unpacked_size(path, 1001)


def test_columns_of_any_kind_are_welcome(tmp_path: Path) -> None:
    columns: dict[str, Any] = {"n": [1, 2, None], "text": ["a", None, "b"], "many": [["a"], [], None], "b": [b"x"] * 3}
    check_unpacked_size(sheet(tmp_path, **columns), 3)


def test_non_parquet_file_is_left_to_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("text")
    check_unpacked_size(path, 1)


def test_the_inferred_kind_of_labels_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "mail.jsonl"
    path.write_text('{"text": "one", "tags": ["x", "y"]}\n{"text": "two", "tags": null}\n')
    told: list[str] = []
    assert read_source(path, label="tags", notify=told.append).multi_label
    assert told == [f"{path}: as its labels are written, a text may have several classes or none."]
    found = preview_file(path, None, 10)
    assert (found.labelled, found.labels, found.multi_label) == (1, {"x": 1, "y": 1}, True)


def test_a_column_describes_the_classes(tmp_path: Path) -> None:
    path = tmp_path / "mail.csv"
    rows = ["one,ham,", 'two,ham,"wanted, by  us"', "three,ham,other words", "four,spam,", "five,,nothing"]
    path.write_text("\n".join(["body,kind,about", *rows]))
    chosen = Columns("body", "kind", None)
    assert preview_file(path, chosen, 10, description="about").descriptions == {"ham": "wanted, by us"}
    assert preview_file(path, chosen, 10).descriptions == {}
    missing = preview_file(path, chosen, 10, description="nowhere")
    assert "nowhere" in missing.problem
    path.write_text('body,kind,about\none,a;b,both\ntwo,b,"the second"\n')
    several = preview_file(path, chosen, 10, multi_label=True, label_separator=";", description="about")
    assert several.descriptions == {"b": "the second"}
