from __future__ import annotations

import io
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from hybridal.app.project import Project
from hybridal.app.web.routes import upload as module

from ...made_up import verdicts
from ..visits import Visit


def upload(visit: Visit, name: str, content: bytes, **columns: Any) -> Any:
    return visit.post("/api/texts", files={"file": (name, content)}, data=columns)


def test_texts_come_in_every_format(owner: Visit, project: Project) -> None:
    sheet = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"text": ["from parquet"]}), sheet)
    files = {
        "x.csv": b"key,body,kind\nx1,from csv,a\n",
        "x.tsv": b"text\nfrom tsv\n",
        "x.jsonl": b'{"text": "from jsonl"}\n',
        "x.parquet": sheet.getvalue(),
    }
    for name, content in files.items():
        columns = {"text": "body", "label": "kind", "id": "key"} if name == "x.csv" else {}
        for added in (1, 0):
            assert upload(owner, name, content, **columns).json() == {"added": added, "known": 1 - added}
    assert verdicts(project) == {"x1": ("a", "file")}
    assert owner.get("/api/project").json()["counts"]["texts"] == 24


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.csv", b"", "x.csv"),
        ("x.csv", b"body\nhello\n", "no column 'text'; its columns are body: name yours in the fields"),
        ("x.exe", b"MZ", "the extension '.exe' is not known"),
        ("x.parquet", b"PAR1", "not a whole Parquet file"),
        ("x.jsonl", b'{"text": "\\ud800"}', "half a character"),
        ("x.csv", b"text\n\xff\xfe\n", "UTF-8"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_without_its_place(
    owner: Visit, name: str, content: bytes, words: str
) -> None:
    answer = upload(owner, name, content)
    assert (answer.status_code, words in answer.json()["error"]) == (400, True), answer.text
    assert "--" not in answer.json()["error"]
    assert "/" not in answer.json()["error"].replace("text/", "")


def test_a_file_with_too_many_rows_is_refused(owner: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 2)
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
