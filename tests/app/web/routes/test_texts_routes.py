from __future__ import annotations

import io
import zipfile
from typing import Any
from urllib.parse import quote

import numpy as np
import openpyxl
import pyarrow
import pyarrow.parquet
import pytest
from fastapi import FastAPI
from sqlalchemy import select, update

from hybridal.app.db.schema import Text
from hybridal.app.labelling.text_search import MAX_COUNTED
from hybridal.app.labelling.texts import add
from hybridal.app.project import Project
from hybridal.app.vectors import stamp_of
from hybridal.app.web.routes import texts_routes as module

from ...made_up import consensus, me
from ..visits import Visit, signed_in


def say(visit: Visit, key: str, text: str, name: str, **more: object) -> None:
    sent = {"key": key, "text": text, "action": "label", "class": name, **more}
    assert visit.post("/api/annotations", sent).status_code == 200


def test_text_list_shows_the_state_of_each_text(owner: Visit) -> None:
    say(owner, "1", "t3", "b", flagged=True, comment="hm")
    found = owner.get("/api/texts", state="labelled").json()
    [item] = found["items"]
    assert (found["total"], found["pages"]) == (1, 1)
    assert {**item, "split": ""} == {
        "id": "t3",
        "text": "text 3",
        "class": "b",
        "source": "people",
        "split": "",
        "flagged": True,
        "comment": "hm",
        "prediction": None,
        "deleted": False,
        "similarity": None,
    }
    assert owner.get("/api/texts", search="text 1").json()["total"] == 11
    assert owner.get("/api/texts", page=2).json()["items"] == []
    assert owner.get("/api/texts", page=2, search="text 1").json()["pages"] == 1
    assert owner.get("/api/texts", state="odd").status_code == 422


def test_very_many_texts_are_counted_where_their_exact_number_is_asked_for(owner: Visit, project: Project) -> None:
    with project.sessions.begin() as session:
        add(session, [(f"m{at}", f"one of many {at}", None) for at in range(MAX_COUNTED + 1)])
    asked: tuple[dict[str, object], ...] = ({}, {"exact": True}, {"page": 21})
    found = [owner.get("/api/texts", search="many", **more).json() for more in asked]
    assert [(one["total"], one["more"], one["pages"]) for one in found] == [
        (1000, True, 20),
        (1001, False, 21),
        (1001, False, 21),
    ]


def test_reviewers_see_the_whole_history_and_annotators_their_own(
    owner: Visit, annotator: Visit, reviewer: Visit
) -> None:
    say(owner, "1", "t3", "b")
    say(annotator, "2", "t3", "a")
    say(owner, "3", "t3", "a")
    expected = [(one["person"], one["class"]) for one in reviewer.get("/api/texts/t3").json()["annotations"]]
    assert expected == [("me", "b"), ("annotator 0", "a"), ("me", "a")]
    assert [one["person"] for one in annotator.get("/api/texts/t3").json()["annotations"]] == ["annotator 0"]
    say(owner, "4", "t4", "a", comment="private")
    assert [visit.get("/api/texts/t4").json()["comment"] for visit in (reviewer, annotator)] == ["private", ""]
    assert "private" not in annotator.get("/api/texts").text


def test_annotator_does_not_see_annotations_of_others(owner: Visit, annotator: Visit, reviewer: Visit) -> None:
    say(owner, "1", "t3", "b", flagged=True)
    say(annotator, "2", "t5", "a")
    say(owner, "3", "t5", "c")

    def told(visit: Visit, id: str) -> tuple[object, ...]:
        item = visit.get(f"/api/texts/{id}").json()
        [listed] = [one for one in visit.get("/api/texts").json()["items"] if one["id"] == id]
        assert {name: item[name] for name in listed} == listed
        return item["class"], item["source"], item["flagged"]

    assert (told(annotator, "t3"), told(reviewer, "t3")) == ((None, None, False), ("b", "people", True))
    assert (told(annotator, "t5"), told(reviewer, "t5")) == (("a", "people", False), (None, None, False))
    for visit, fit in ((annotator, [1, 19, 0, 0]), (reviewer, [1, 19, 1, 1])):
        asked: list[dict[str, str]] = [{"state": "labelled"}, {"state": "unlabelled"}, {"state": "flagged"}]
        found = [visit.get("/api/texts", **one).json()["total"] for one in [*asked, {"class": "b"}]]
        assert found == fit


def test_lists_show_the_beginning_of_a_long_text_and_the_dialog_all_of_it(owner: Visit, project: Project) -> None:
    with project.sessions.begin() as session:
        session.execute(update(Text).where(Text.id == "t3").values(body="long " * 1000, folded="long " * 1000))
    [item] = owner.get("/api/texts", search="long").json()["items"]
    assert (len(item["text"]) < 600, item["text"][-1]) == (True, "…")
    assert owner.get("/api/texts/t3").json()["text"] == "long " * 1000


def test_any_id_can_be_asked_for(app: FastAPI, project: Project) -> None:
    visit = signed_in(app, me(project))
    for id in ("a/b", "a b?c#d", "é😀", "...", "100%"):
        with project.sessions.begin() as session:
            session.execute(update(Text).where(Text.row == 1).values(id=id))
        # As browsers escape it.
        assert visit.client.get("/api/texts/" + quote(id, safe="")).json()["id"] == id
    assert visit.get("/api/texts/nowhere").json() == {"error": "There is no such text."}


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
    assert found == {
        "columns": ["id", "review", "label"],
        "first": [["1", "fine", "good"], ["2", "", ""], ["3", "fine", ""], ["4", "bad", "poor"]],
        "text": "review",
        "label": "label",
        "id": "id",
        "rows": 4,
        "empty": 1,
        "duplicates": 1,
        "labels": {"good": 1, "poor": 1},
        "problem": "",
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


def test_other_columns_come_with_the_text_and_suggestions_to_who_labels(owner: Visit, annotator: Visit) -> None:
    content = b"text,label,author\nnew,b,Ada\n"
    assert upload(owner, "x.csv", content, label="label", suggested="true").json()["added"] == 1
    [found] = annotator.get("/api/texts", search="ada").json()["items"]
    assert found["class"] is None
    assert annotator.get(f"/api/texts/{found['id']}").json()["context"] == {"author": "Ada"}
    items = owner.get("/api/next", n=21).json()["items"]
    assert {one["id"]: (one["suggestion"], one["context"]) for one in items}[found["id"]] == ("b", {"author": "Ada"})
    assert {one["suggestion"] for one in items} == {"b", None}


def test_predictions_filter_needs_permission_to_see_predictions(owner: Visit, annotator: Visit) -> None:
    for asked in ({"order": "sure"}, {"predicted": "a"}):
        assert annotator.get("/api/texts", **asked).status_code == 403
        assert owner.get("/api/texts", **asked).json()["total"] == 0
    assert owner.send("PATCH", "/api/settings", {"show_predictions": True}).status_code == 200
    assert annotator.get("/api/texts", order="doubt").status_code == 200


def test_texts_that_are_alike_are_listed_and_filtered(owner: Visit, project: Project) -> None:
    answer = owner.get("/api/texts", like="t3")
    assert (answer.status_code, "not read this text yet" in answer.json()["error"]) == (404, True)
    assert owner.get("/api/texts", like="no such text").status_code == 404
    with project.reads() as session:
        texts = session.scalars(select(Text).order_by(Text.row)).all()[:6]  # t0 to t5
    angles = np.array([0.0, 0.3, 0.05, 0.2, 1.0, 0.6])
    project.embeddings.begin({}, 2)
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    project.embeddings.write([text.row for text in texts], vectors, [stamp_of(text.digest) for text in texts])
    found = owner.get("/api/texts", like="t3").json()
    assert ([item["id"] for item in found["items"]], found["total"]) == (["t1", "t2", "t0", "t5", "t4"], 5)
    alike = [item["similarity"] for item in found["items"]]
    np.testing.assert_allclose(alike, np.cos([0.1, 0.15, 0.2, 0.4, 0.8]), atol=1e-3)
    say(owner, "1", "t2", "b")
    left = owner.get("/api/texts", like="t3", state="unlabelled").json()["items"]
    assert [item["id"] for item in left] == ["t1", "t0", "t5", "t4"]
    with project.sessions.begin() as session:
        session.get_one(Text, texts[3].row).digest = "0" * 32  # another text got its row
    assert owner.get("/api/texts", like="t3").status_code == 404


def test_some_texts_are_asked_for_by_their_ids(owner: Visit) -> None:
    found = owner.get("/api/texts", id=["t3", "none", "t1", "t3"]).json()
    assert ([item["id"] for item in found["items"]], found["total"]) == (["t3", "t1"], 2)
    assert owner.get("/api/texts", id=["t1"] * 51).status_code == 422
