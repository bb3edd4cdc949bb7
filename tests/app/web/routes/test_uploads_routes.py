from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow
import pyarrow.parquet
import pytest
from fastapi import FastAPI

from hybridal.app.labelling import texts
from hybridal.app.project import Project
from hybridal.app.web import file_previews as module

from ...made_up import consensus, make, me, people
from ..visits import Visit, local, signed_in


def upload(visit: Visit, name: str, content: bytes, **columns: Any) -> Any:
    return visit.post("/api/texts", files={"file": (name, content)}, data=columns)


def test_texts_come_in_every_format(owner: Visit, project: Project) -> None:
    sheet = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": ["from parquet"]}), sheet)
    book, excel = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["text"])
    book.active.append(["from xlsx"])
    book.save(excel)
    files = {
        "x.csv": b"key,body,kind\nx1,from csv,a\n",
        "x.tsv": b"text\nfrom tsv\n",
        "x.jsonl": b'{"text": "from jsonl"}\n',
        "x.json": b'["from json"]',
        "x.txt": "from txt".encode("utf-16"),
        "x.xlsx": excel.getvalue(),
        "x.parquet": sheet.getvalue(),
    }
    for name, content in files.items():
        columns = {"text": "body", "label": "kind", "id": "key"} if name == "x.csv" else {}
        for added in (1, 0):
            expected = {"added": added, "known": 1 - added, "empty": 0, "duplicates": 0}
            assert upload(owner, name, content, **columns).json() == expected
    assert consensus(project) == {"x1": ("a", "file")}
    assert owner.get("/api/project").json()["counts"]["texts"] == 27


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.csv", b"", "x.csv"),
        ("x.csv", b"body\nhello\n", "no column 'text'; its columns are body: choose"),
        ("x.exe", b"MZ", "the extension '.exe' is not known"),
        ("x.parquet", b"PAR1", "not a whole Parquet file"),
        ("x.jsonl", b'{"text": "a \\ud800"}', "half a character"),
        ("x.csv", b"text\n\x81\n", "UTF-8"),
    ],
)
def test_file_errors_show_no_path(owner: Visit, name: str, content: bytes, words: str) -> None:
    answer = upload(owner, name, content)
    assert (answer.status_code, words in answer.json()["error"]) == (400, True), answer.text
    assert "--" not in answer.json()["error"]
    assert "/" not in answer.json()["error"].replace("text/", "")


def preview(visit: Visit, name: str, content: bytes, **columns: Any) -> Any:
    return visit.post("/api/texts/preview", files={"file": (name, content)}, data=columns)


def test_a_file_is_looked_at_and_nothing_is_added(owner: Visit) -> None:
    content = b"id;review;label\n1;fine;good\n2;;\n3;fine;\n4;bad;poor\n"
    found = preview(owner, "x.csv", content).json()
    assert {**found, "upload": ""} == {
        "upload": "",
        "columns": ["id", "review", "label"],
        "first": [["1", "fine", "good"], ["2", "", ""], ["3", "fine", ""], ["4", "bad", "poor"]],
        "text": "review",
        "label": "label",
        "id": "id",
        "rows": 4,
        "empty": 1,
        "duplicates": 1,
        "labelled": 2,
        "labels": {"good": 1, "poor": 1},
        "descriptions": {},
        "multi_label": False,
        "problem": "",
        "notices": [],
    }
    chosen = preview(owner, "x.csv", content, text="label", id="review").json()
    assert (chosen["text"], chosen["label"], chosen["id"], chosen["rows"]) == ("label", None, "review", 4)
    assert owner.get("/api/project").json()["counts"]["texts"] == 20


def test_invalid_columns_are_reported_with_the_preview(owner: Visit) -> None:
    found = preview(owner, "x.jsonl", b'{"text": 3}\n').json()
    assert (found["first"], found["problem"]) == (
        [["3"]],
        "x.jsonl, line 1, column 'text': 3 is not a text; write it as a string.",
    )
    assert preview(owner, "x.exe", b"MZ").status_code == 400


def test_empty_and_equal_texts_are_left_out_by_choice(owner: Visit) -> None:
    content = b"text\nnew\n \nnew\n"
    assert upload(owner, "x.csv", content).status_code == 400
    chosen = upload(owner, "x.csv", content, drop_empty="true", drop_duplicates="true").json()
    assert chosen == {"added": 1, "known": 0, "empty": 1, "duplicates": 1}


def test_a_small_excel_file_that_is_large_inside_is_refused(owner: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybridal.app.labelling.text_source.MOST_BYTES", 100_000)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b" " * 200_000)
    for ask in (upload, preview):
        assert ask(owner, "x.xlsx", bomb.getvalue()).status_code == 413


def test_a_file_with_too_many_rows_is_refused(owner: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ROWS", 2)
    sheet = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a", "b", "c"]}), sheet)
    for name, content, status in (("x.csv", b"text\na\nb\nc\n", 400), ("x.parquet", sheet.getvalue(), 413)):
        answer = upload(owner, name, content)
        assert (answer.status_code, answer.json()["error"].startswith(f"{name}: ")) == (status, True), answer.text
    assert upload(owner, "x.csv", b"text\na\nb\n").json()["added"] == 2


def test_a_failed_upload_adds_nothing(owner: Visit) -> None:
    answer = upload(owner, "x.csv", b"text,label,id\nnew,zzz,n1\nother,zzz,t1\n", label="label", id="id")
    assert (answer.status_code, "'t1'" in answer.json()["error"]) == (409, True)
    found = owner.get("/api/project").json()
    assert (found["counts"]["texts"], [one["name"] for one in found["classes"]]) == (20, ["a", "b", "c"])


def test_other_columns_come_with_the_text_and_suggestions_go_to_the_annotator(owner: Visit, annotator: Visit) -> None:
    content = b"text,label,author\nnew,b,Ada\n"
    assert upload(owner, "x.csv", content, label="label", suggested="true").json()["added"] == 1
    [found] = annotator.get("/api/texts", search="ada").json()["items"]
    assert found["class"] is None
    assert annotator.get(f"/api/texts/{found['id']}").json()["context"] == {"author": "Ada"}
    items = owner.get("/api/next", n=21).json()["items"]
    assert {one["id"]: (one["suggestion"], one["context"]) for one in items}[found["id"]] == ("b", {"author": "Ada"})
    assert {one["suggestion"] for one in items} == {"b", None}


def test_a_previewed_file_is_sent_once(owner: Visit, app: FastAPI) -> None:
    token = preview(owner, "x.csv", b"body,kind\nnew,a\n").json()["upload"]
    chosen = owner.post("/api/texts/preview", data={"upload": token, "text": "kind"}).json()
    assert (chosen["upload"], chosen["text"], chosen["label"]) == (token, "kind", None)
    path = app.state.held.find(token, 1).path
    added = owner.post("/api/texts", data={"upload": token, "text": "body"})
    assert added.json() == {"added": 1, "known": 0, "empty": 0, "duplicates": 0}
    assert not path.exists()
    again = owner.post("/api/texts", data={"upload": token, "text": "body"})
    assert (again.status_code, again.json()["error"]) == (
        404,
        "The file is no longer on the server; choose it again.",
    )


def test_a_previewed_file_is_only_for_the_owner_who_sent_it(owner: Visit, app: FastAPI, project: Project) -> None:
    token = preview(owner, "x.csv", b"text\nnew\n").json()["upload"]
    other = signed_in(app, people(project, 1, "owner")[0])
    answers = [
        other.post("/api/texts", data={"upload": token}),
        other.post("/api/texts/preview", data={"upload": token}),
    ]
    assert {answer.status_code for answer in answers} == {404}
    app.state.held.find(token, 1).progress(1, 3)
    found = [visit.get(f"/api/uploads/{token}").json() for visit in (owner, other)]
    assert found == [{"done": 1, "total": 3}, {"done": 0, "total": 0}]


def test_a_file_that_cannot_be_previewed_is_deleted_and_one_that_cannot_be_added_is_kept(
    owner: Visit, app: FastAPI
) -> None:
    held = app.state.held
    held.close()
    assert preview(owner, "x.parquet", b"PAR1").status_code == 400
    assert held.tokens() == []
    token = preview(owner, "x.csv", b"body\nnew\n").json()["upload"]
    refused = owner.post("/api/texts", data={"upload": token, "text": "boddy"})
    assert (refused.status_code, "/" in refused.json()["error"]) == (400, False)
    assert held.tokens() == [token]


def test_a_request_without_a_file_says_so(owner: Visit) -> None:
    for path in ("/api/texts", "/api/texts/preview"):
        assert "no file in this request" in owner.post(path, data={"text": "body"}).json()["error"]


def test_progress_is_known_while_texts_are_added(owner: Visit, app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "_TEXTS_PER_TRANSACTION", 2)
    add, seen = texts.add, []

    def watched(*args: Any, **kwargs: Any) -> texts.Added:
        seen.append(owner.get(f"/api/uploads/{token}").json())
        return add(*args, **kwargs)

    monkeypatch.setattr(texts, "add", watched)
    token = preview(owner, "x.csv", b"text\na\nb\nc\n").json()["upload"]
    assert owner.post("/api/texts", data={"upload": token}).json()["added"] == 3
    assert seen == [{"done": 0, "total": 3}, {"done": 2, "total": 3}]


def test_a_preview_names_the_sheets_that_are_not_read(owner: Visit) -> None:
    book, excel = openpyxl.Workbook(), io.BytesIO()
    book.active.append(["text"])
    book.active.append(["from the first sheet"])
    book.create_sheet("Archive")
    book.save(excel)
    [notice] = preview(owner, "x.xlsx", excel.getvalue()).json()["notices"]
    assert notice.startswith("x.xlsx: only the first sheet, 'Sheet', is read, not 'Archive'; ")


@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [
        ("x.csv", b"text,tags\nx,a; b\ny,[]\n", {"label": "tags", "label_separator": ";"}),
        ("x.csv", b"text,a,b\nx,1,1\ny,0,0\n", {"label": ["a", "b"]}),
        ("x.jsonl", b'{"text": "x", "label": ["a", "b"]}\n{"text": "y", "label": []}\n', {"label": "label"}),
    ],
)
def test_texts_come_with_several_classes(tmp_path: Path, name: str, content: bytes, columns: dict[str, Any]) -> None:
    project = make(tmp_path / "p", texts=0, multi_label=True, validation_first=0)
    owner = signed_in(local(project), me(project))
    preview = owner.post("/api/texts/preview", files={"file": (name, content)}, data={"text": "text", **columns}).json()
    assert (preview["labels"], preview["multi_label"], preview["label"]) == ({"a": 1, "b": 1}, True, columns["label"])
    assert upload(owner, name, content, text="text", **columns).json()["added"] == 2
    shown = {one["text"]: one["classes"] for one in owner.get("/api/texts").json()["items"]}
    assert shown == {"x": ["a", "b"], "y": []}
    project.close()


def test_sets_are_refused_where_a_text_has_one_class(owner: Visit) -> None:
    reply = upload(owner, "x.jsonl", b'{"text": "x", "label": ["a", "b"]}', text="text", label="label")
    assert (reply.status_code, "exactly one class" in reply.json()["error"]) == (400, True)
