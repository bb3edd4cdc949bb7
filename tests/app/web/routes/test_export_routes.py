import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet
from sqlalchemy import select

from hybridal.app.db.schema import Class, Scoring, Text
from hybridal.app.project import Project

from ...exchange.projects import NASTY, empty, made
from .signed_in import browser, promote

FILES = [
    "labels.csv",
    "labels.spreadsheet.csv",
    "labels.jsonl",
    "labels.parquet",
    "label-studio.json",
    "predictions.csv",
    "predictions.spreadsheet.csv",
    "predictions.parquet",
    "model.zip",
    "project.zip",
]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = made(tmp_path)
    (found.exports / "model").mkdir(parents=True)
    (found.exports / "model" / "config.json").write_text("{}")
    with found.reads() as session:
        text, number = session.scalars(select(Text.row)).first(), session.scalars(select(Class.number)).first()
    assert text is not None
    found.probabilities.begin({"classes": [number]}, 1)
    found.probabilities.write([text], np.array([[1.0]]), [3])
    return found


def test_every_file_can_be_taken_away_under_its_name(project: Project) -> None:
    with browser(project) as client:
        for name in FILES:
            answer = client.get(f"/api/export/{name}")
            assert (answer.status_code, bool(answer.content)) == (200, True)
            assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'


def test_exports_have_the_right_contents(project: Project) -> None:
    with browser(project) as client:
        lines = [json.loads(line) for line in client.get("/api/export/labels.jsonl").text.splitlines()]
        table = parquet.read_table(io.BytesIO(client.get("/api/export/labels.parquet").content))
        archive = zipfile.ZipFile(io.BytesIO(client.get("/api/export/model.zip").content))
        predictions = client.get("/api/export/predictions.csv").text
    assert predictions == "id,class,probability,p(bug),round\r\na,bug,1.0,1.0,2\r\n"
    assert lines[1]["text"] == NASTY
    assert table.to_pylist() == lines
    assert archive.namelist() == ["model/config.json"]


def test_missing_export_error_shows_no_path(tmp_path: Path) -> None:
    with browser(made(tmp_path)) as client:
        for name in ("predictions.csv", "predictions.parquet", "model.zip"):
            answer = client.get(f"/api/export/{name}")
            assert (answer.status_code, "scored" in answer.json()["error"]) == (404, True)
            assert str(tmp_path) not in answer.text


def test_there_are_no_other_files(project: Project) -> None:
    with browser(project) as client:
        for name in ("labels.xlsx", "labels.", "predictions.jsonl", "other.csv", "..%2f..%2flabels.db"):
            assert client.get(f"/api/export/{name}").status_code in (404, 422)


def test_a_label_studio_file_goes_out_and_in_again(project: Project, tmp_path: Path) -> None:
    other = empty(tmp_path, "other")
    with browser(project) as client:
        content = client.get("/api/export/label-studio.json").content
        anonymous = client.get("/api/export/label-studio.json", params={"anonymous": True}).json()
    assert not any("completed_by" in one for task in anonymous for one in task["annotations"])
    with browser(other) as client:
        answer = client.post("/api/import/label-studio", files={"file": ("export.json", content)})
        assert answer.json() == {"added": 10, "known": 0, "labelled": 9, "unchanged": 0}
        assert client.get("/api/project").json()["counts"]["labelled"] == 4
        again = client.post("/api/import/label-studio", files={"file": ("export.json", content)})
        assert again.json() == {"added": 0, "known": 10, "labelled": 0, "unchanged": 9}


def test_field_and_control_can_be_named(tmp_path: Path) -> None:
    regions = [{"from_name": name, "value": {"choices": [name]}} for name in ("mood", "topic")]
    task = {"id": 1, "data": {"title": "t", "body": "the text"}, "annotations": [{"id": 1, "result": regions}]}
    with browser(empty(tmp_path)) as client:
        files = {"file": ("export.json", json.dumps([task]))}
        refused = client.post("/api/import/label-studio", files=files)
        assert refused.status_code == 400
        assert "Task 1" in refused.json()["error"]
        answer = client.post("/api/import/label-studio", files=files, data={"text": "body", "choices": "topic"})
        assert answer.json() == {"added": 1, "known": 0, "labelled": 1, "unchanged": 0}
        assert [one["name"] for one in client.get("/api/project").json()["classes"]] == ["topic"]


def test_invalid_import_gets_one_sentence(tmp_path: Path) -> None:
    with browser(empty(tmp_path)) as client:
        for content in (b"", b"not json", b"\xff\xfe", b"[" * 100_000, b'{"a": 1}', b"[{}]"):
            answer = client.post("/api/import/label-studio", files={"file": ("export.json", content)})
            assert (answer.status_code, "error" in answer.json()) == (400, True)


@pytest.mark.parametrize(
    ("role", "out", "into"), [("annotator", 403, 403), ("reviewer", 200, 403), ("owner", 200, 200)]
)
def test_reviewers_take_away_and_owners_bring_in(project: Project, role: str, out: int, into: int) -> None:
    promote(project, "Dee", role)
    files: Any = {"file": ("export.json", "[]")}
    with browser(project, "Dee") as client:
        assert {client.get(f"/api/export/{name}").status_code for name in FILES if name != "project.zip"} == {out}
        assert client.get("/api/export/project.zip").status_code == into
        assert client.post("/api/import/label-studio", files=files).status_code == into


def test_scoring_can_be_paused_and_starts_with_visible_texts(project: Project) -> None:
    with browser(project) as client:
        for asked, state in (("pause", "paused"), ("resume", "running")):
            answer = client.post("/api/scoring", json={"request": asked}).json()
            assert answer["state"] == client.get("/api/scoring").json()["state"] == state
        assert client.post("/api/scoring", json={"request": "cancel"}).status_code == 422
        ids = [item["id"] for item in client.get("/api/texts").json()["items"][:2]]
        assert client.post("/api/scoring/first", json={"texts": [*ids, "no such text"]}).status_code == 200
    with project.reads() as session:
        assert session.get_one(Scoring, 1).first == "1,2"
