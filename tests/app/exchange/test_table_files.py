from __future__ import annotations

import csv
import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from sqlalchemy import select

from hybridal.app.app_errors import MissingError
from hybridal.app.db.schema import Person, Text
from hybridal.app.exchange.table_files import (
    COLUMNS,
    LABEL_FORMATS,
    PART_BYTES,
    PREDICTION_FORMATS,
    ModelArchive,
    csv_parts,
    escape_formula,
    file_parts,
    label_rows,
    prediction_rows,
)
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.classes import find, put_in_group, rename
from hybridal.app.labelling.comments import answer, begin_thread
from hybridal.app.labelling.text_source import Source, read_source
from hybridal.app.labelling.texts import Added, Row, add_in_parts
from hybridal.app.people import User
from hybridal.app.project import Project
from hybridal.errors import UserError
from hybridal.system.scratch import scratch

from ..made_up import make, me
from .projects import NASTY, empty, made

pytestmark = pytest.mark.usefixtures("parquet_here")

WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "a=1", ""])
def test_nothing_begins_a_formula(cell: str) -> None:
    assert escape_formula(cell)[:1] not in tuple("=+-@\t\r\n＝＋－＠")
    assert escape_formula(cell).removeprefix("'") == cell.removeprefix("'")


@pytest.mark.parametrize("written", [str, escape_formula])
@given(pairs=st.lists(st.tuples(WORDS, WORDS), max_size=20))
def test_a_csv_reader_reads_what_was_written(written: Callable[[str], str], pairs: list[tuple[str, str]]) -> None:
    file = "".join(csv_parts(["a", "b"], ({"a": a, "b": b} for a, b in pairs), written))
    read = [*csv.reader(io.StringIO(file, newline=""))]
    assert read == [["a", "b"], *([written(a), written(b)] for a, b in pairs)]


HOSTILE = st.one_of(
    st.sampled_from(
        [NASTY, "'=1", "-1", "@you hi", "\ufeffx", "a\r\nb", '"', "a\u2028b\x85c", "\\", "NULL", "é", "e\u0301"]
    ),
    WORDS.map(lambda words: f"x{words}"),  # a text with nothing to see in it counts as empty
)
EMPTY = {"source": "file", "split": "pool", "flagged": False, "comments": "", "at": "", "annotations": []}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@given(
    rows=st.lists(
        st.tuples(HOSTILE, HOSTILE, st.none() | HOSTILE.map(str.strip)), min_size=1, unique_by=lambda row: row[0]
    )
)
def test_every_export_is_read_again_as_it_was(kind: str, rows: list[tuple[str, str, str | None]]) -> None:
    lines = [{**EMPTY, "id": id, "text": text, "label": label} for id, text, label in rows]
    with scratch() as folder:
        path = folder / f"labels.{kind}"
        path.write_bytes(b"".join(LABEL_FORMATS[kind](lines)))
        found = read_source(path, text="text", label="label", id="id").rows
        assert [row[:3] for row in found] == rows


def test_uploading_the_own_export_changes_nothing(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    project = made(tmp_path / "again")
    for kind in ("csv", "jsonl", "parquet"):
        path = tmp_path / f"labels.{kind}"
        path.write_bytes(b"".join(LABEL_FORMATS[kind](lines)))
        source = read_source(path, text="text", label="label", id="id")
        assert add_in_parts(project.sessions, source.rows) == Added(0, len(lines))


def test_long_files_come_in_parts() -> None:
    rows = ({"n": n} for n in range(1201))
    parts = [*csv_parts(["n"], rows)]
    assert len(parts) == 3
    assert "".join(parts).split() == ["n", *map(str, range(1201))]


def test_lists_are_json_and_truth_is_a_word() -> None:
    lines = "".join(csv_parts(["l", "t", "n"], [{"l": [{"x": "é"}], "t": True, "n": None}])).splitlines()
    assert lines[1] == '"[{""x"": ""é""}]",true,'


def test_a_large_file_comes_in_parts_and_is_closed() -> None:
    file = io.BytesIO(b"x" * (2 * PART_BYTES + 1))
    assert [len(part) for part in file_parts(file)] == [PART_BYTES, PART_BYTES, 1]
    assert file.closed


def test_every_annotated_text_is_exported_with_all_annotations(tmp_path: Path, db: str | None) -> None:
    project = made(tmp_path, db)
    with project.sessions.begin() as session:
        thread = begin_thread(session, User(me(project), "", ""), "b", None, "why?", "c1")
        answer(session, User(me(project), "", ""), thread, "ah", done=True, key="c2")
    lines = {line["id"]: line for line in label_rows(project.reads)}
    assert [*lines] == [*"abcdefg"]
    assert {id: (line["label"], line["source"]) for id, line in lines.items()} == {
        "a": ("bug", "people"),
        "b": ("idea", "people"),
        "c": (None, None),
        "d": (None, None),
        "e": ("idea", "adjudicated"),
        "f": ("bug", "file"),
        "g": ("idea", "llm"),
    }
    assert (lines["b"]["text"], lines["b"]["flagged"]) == (NASTY, True)
    assert lines["b"]["comments"] == "Ann: =1+1\nme to the reviewers: why?\nme: ah"
    expected = [(one["person"], one["action"], one["class"]) for one in lines["e"]["annotations"]]
    assert expected == [("Ann", "label", "idea"), ("Bo", "label", "bug"), ("me", "adjudicate", "idea")]
    assert lines["d"]["annotations"][0]["class"] is None
    assert lines["c"]["at"] == max(one["at"] for one in lines["c"]["annotations"])
    assert all(tuple(line) == COLUMNS for line in lines.values())


def test_many_texts_come_page_by_page_and_none_twice(tmp_path: Path) -> None:
    rows = [(f"t{at}", f"text {at}", "x" if at % 2 else None) for at in range(2100)]
    project = Project.create(Source("many", rows, ("x", "y")), tmp_path / "many.hybridal")
    with project.sessions.begin() as session:
        me = session.scalars(select(Person).where(Person.name == "me")).one()
        for at in (1, 2, 999, 1000, 2098):
            annotate(session, me, f"t{at}", "label", class_name="y", key=str(at))
    lines = [*label_rows(project.reads)]
    expected = [f"t{at}" for at in range(2100) if at % 2 or at in (2, 1000, 2098)]
    assert [line["id"] for line in lines] == expected
    assert [line["id"] for line in lines if line["label"] == "y"] == ["t1", "t2", "t999", "t1000", "t2098"]
    assert [len(line["annotations"]) for line in lines if line["id"] == "t999"] == [2]


def test_an_untouched_project_has_no_labels(tmp_path: Path) -> None:
    project = Project.create(Source("demo", [("a", "x", None)], ()), tmp_path / "demo.hybridal")
    assert [*label_rows(project.reads)] == []


@pytest.fixture
def lines(tmp_path: Path) -> list[dict[str, Any]]:
    return [*label_rows(made(tmp_path).reads)]


def test_jsonl_is_verbatim(lines: list[dict[str, Any]]) -> None:
    written = b"".join(LABEL_FORMATS["jsonl"](lines)).decode()
    assert [json.loads(line) for line in written.split("\n")[:-1]] == lines


def test_parquet_is_verbatim(lines: list[dict[str, Any]]) -> None:
    table = parquet.read_table(io.BytesIO(b"".join(LABEL_FORMATS["parquet"](lines))))
    assert table.column_names == list(COLUMNS)
    assert table.to_pylist() == lines


def test_csv_is_verbatim_and_guarded_only_for_spreadsheets(lines: list[dict[str, Any]]) -> None:
    rows, guarded = (
        [*csv.DictReader(io.StringIO(b"".join(LABEL_FORMATS[kind](lines)).decode(), newline=""))]
        for kind in ("csv", "spreadsheet.csv")
    )
    assert [row["text"] for row in rows] == [line["text"] for line in lines]
    assert guarded[1]["text"].startswith("'=HYPERLINK")
    assert [json.loads(row["annotations"]) for row in rows] == [line["annotations"] for line in lines]
    assert [row["label"] for row in rows] == [line["label"] or "" for line in lines]


def test_files_without_labels_have_only_a_header(tmp_path: Path) -> None:
    none = [*label_rows(empty(tmp_path).reads)]
    assert b"".join(LABEL_FORMATS["csv"](none)).decode().strip() == ",".join(COLUMNS)
    assert b"".join(LABEL_FORMATS["jsonl"](none)) == b""
    assert parquet.read_table(io.BytesIO(b"".join(LABEL_FORMATS["parquet"](none)))).num_rows == 0


def scored(folder: Path, n: int = 1200) -> Project:
    """Texts with predictions for all but the last."""
    project = Project.create(Source("s", [(f"={at}", f"text {at}", None) for at in range(n)], ("bug", "idea")), folder)
    project.probabilities.begin({"classes": [2, 1]}, 2)
    with project.reads() as session:
        rows = session.scalars(select(Text.row).order_by(Text.row)).all()[:-1]
    project.probabilities.write(rows, np.array([[0.25, 0.75]] * len(rows)), [4] * len(rows))
    return project


@pytest.mark.parametrize(("kind", "id"), [("csv", "=7"), ("spreadsheet.csv", "'=7"), ("parquet", "=7")])
def test_predictions_are_of_all_texts_that_are_scored_by_the_names_that_classes_have_now(
    tmp_path: Path, kind: str, id: str
) -> None:
    project = scored(tmp_path / "p")
    with project.sessions.begin() as session:
        rename(session, 1, "fault")
    file = b"".join(PREDICTION_FORMATS[kind](prediction_rows(project)))
    if kind == "parquet":
        rows = parquet.read_table(io.BytesIO(file)).to_pylist()
    else:
        rows = [*csv.DictReader(io.StringIO(file.decode(), newline=""))]
    assert len(rows) == 1199
    expected = {"id": id, "class": "fault", "probability": 0.75, "p(idea)": 0.25, "p(fault)": 0.75, "round": 3}
    assert rows[7] == (expected if kind == "parquet" else {name: str(value) for name, value in expected.items()})
    project.close()


def test_export_before_the_first_predictions_says_what_to_do(tmp_path: Path) -> None:
    project = empty(tmp_path)
    with pytest.raises(MissingError, match="label some texts first"):
        prediction_rows(project)
    project.close()


def model(exports: Path) -> Path:
    folder = exports / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "empty").touch()
    (folder / "model.safetensors").write_bytes(bytes(range(256)) * (3 * PART_BYTES // 256) + b"end")
    (folder / "sub" / "ünïcode.txt").write_text("é")
    return folder


def test_model_archive_unpacks_to_the_same_folder(tmp_path: Path) -> None:
    folder = model(tmp_path)
    packed = [*ModelArchive(tmp_path).parts()]
    archive = zipfile.ZipFile(io.BytesIO(b"".join(packed)))
    assert archive.testzip() is None
    archive.extractall(tmp_path / "out")
    for path in folder.rglob("*"):
        if path.is_file():
            assert (tmp_path / "out" / "model" / path.relative_to(folder)).read_bytes() == path.read_bytes()
    assert len(archive.namelist()) == 4
    assert max(map(len, packed)) < 2 * PART_BYTES


def test_a_model_that_is_replaced_meanwhile_is_not_mixed_in(tmp_path: Path) -> None:
    folder = model(tmp_path)
    known = b"".join(ModelArchive(tmp_path).parts())
    opened = ModelArchive(tmp_path)
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "config.json").write_text("other")
    assert b"".join(opened.parts()) == known


def test_model_archive_does_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (model(tmp_path) / "link").symlink_to(tmp_path / "secret")
    names = zipfile.ZipFile(io.BytesIO(b"".join(ModelArchive(tmp_path).parts()))).namelist()
    assert "model/link" not in names


def test_export_before_the_first_model_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="it is available once"):
        ModelArchive(tmp_path)
    (tmp_path / "model").mkdir()
    with pytest.raises(MissingError):
        ModelArchive(tmp_path)


def test_columns_of_the_uploaded_file_are_exported_too(tmp_path: Path) -> None:
    rows = [Row("1", "one", "a", {"author": "=Ada", "label": "theirs"}), Row("2", "two", "a")]
    project = Project.create(Source("s", rows), tmp_path / "p")
    lines = [*label_rows(project.sessions)]
    assert [[*line][len(COLUMNS) :] for line in lines] == [["author", "label (file)"]] * 2
    assert [(line["author"], line["label (file)"], line["label"]) for line in lines] == [
        ("=Ada", "theirs", "a"),
        (None, None, "a"),
    ]
    for kind in ("csv", "jsonl", "parquet"):
        path = tmp_path / f"labels.{kind}"
        path.write_bytes(b"".join(LABEL_FORMATS[kind](lines)))
        found = read_source(path, label="label", id="id").rows
        assert isinstance(found[0], Row)
        assert (found[0].context["author"], found[0].context["label (file)"]) == ("=Ada", "theirs")
    project.close()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_without_lines_has_its_columns(tmp_path: Path, kind: str) -> None:
    (tmp_path / f"x.{kind}").write_bytes(b"".join(LABEL_FORMATS[kind]([])))
    with pytest.raises(UserError, match="no rows"):
        read_source(tmp_path / f"x.{kind}", label="label", id="id")


def test_labels_name_their_version_of_the_codebook_and_their_group(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    with project.sessions.begin() as session:
        annotate(session, me(project), "t0", "label", class_name="a", key="0")
        put_in_group(session, find(session, "a").number, "fruit")
        annotate(session, me(project), "t1", "label", class_name="a", key="1")
        annotate(session, me(project), "t2", "label", class_name="b", key="2", codebook=1)
        annotate(session, me(project), "t3", "skip", key="3")
    rows = [*label_rows(project.sessions)]
    assert [(row["id"], row["label"], row["group"], row["codebook"]) for row in rows] == [
        ("t0", "a", "fruit", 1),
        ("t1", "a", "fruit", 2),
        ("t2", "b", None, 1),
        ("t3", None, None, None),
    ]
    assert [row["annotations"][0]["codebook"] for row in rows] == [1, 2, 1, 2]
    table = parquet.read_table(io.BytesIO(b"".join(LABEL_FORMATS["parquet"](label_rows(project.sessions)))))
    assert (table["group"].to_pylist(), table["codebook"].to_pylist()) == (
        ["fruit", "fruit", None, None],
        [1, 2, 1, None],
    )
    project.close()


def test_sets_have_the_groups_of_their_classes(tmp_path: Path) -> None:
    project = make(tmp_path / "p", multi_label=True)
    with project.sessions.begin() as session:
        for name in ("a", "b"):
            put_in_group(session, find(session, name).number, "fruit")
        owner = me(project)
        for id, names in {"t0": ["a", "b", "c"], "t1": ["c"]}.items():
            annotate(session, owner, id, "label", class_names=names, key=id)
    assert [row["group"] for row in label_rows(project.sessions)] == [["fruit"], []]
    table = parquet.read_table(io.BytesIO(b"".join(LABEL_FORMATS["parquet"](label_rows(project.sessions)))))
    assert table["group"].to_pylist() == [["fruit"], []]
    project.close()
