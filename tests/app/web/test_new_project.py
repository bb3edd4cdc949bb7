from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybridal.app.labelling import classes
from hybridal.app.labelling.consensus import counts
from hybridal.app.project import Project
from hybridal.app.web import new_project

from .test_start import Visitor, quick, visited

__all__ = ["quick"]

MAILS = b"body,kind,n\nHello,ham,1\nWIN,spam,2\n,ham,3\nHello,,4\nMeeting,,5\n"


def send_file(operator: Visitor, content: bytes = MAILS, name: str = "my_mails.csv", **fields: Any) -> Any:
    operator.projects()
    headers = {"X-CSRF-Token": operator.csrf_token}
    return operator.client.post("/api/uploads", files={"file": (name, content)}, data=fields, headers=headers)


def test_a_file_becomes_a_project_with_all_that_was_chosen(tmp_path: Path) -> None:
    with visited(tmp_path, "correct horse") as operator:
        found = send_file(operator).json()
        assert (found["text"], found["label"], found["rows"], found["labels"]) == (
            "body",
            "kind",
            5,
            {"ham": 1, "spam": 1},
        )
        token = found["upload"]
        headers = {"X-CSRF-Token": operator.csrf_token}
        again = operator.client.post("/api/uploads", data={"upload": token, "text": "kind", "id": "n"}, headers=headers)
        assert (again.json()["text"], again.json()["label"], again.json()["upload"]) == ("kind", None, token)
        assert operator.get(f"/api/uploads/{token}").json() == {"done": 0, "total": 0}
        plan = {
            "name": " My  mails ",
            "upload": token,
            "text": "body",
            "label": ["kind"],
            "id": "n",
            "classes": [{"name": "spam", "description": "unwanted"}, {"name": "news"}],
            "invitations": ["annotator", "reviewer"],
            "budget": 50,
            "validation_share": 0.1,
        }
        made = operator.send("POST", "/api/projects", plan)
        assert made.status_code == 200, made.text
        assert (made.json()["title"], made.json()["texts"], made.json()["labelled"]) == ("My mails", 3, 2)
        assert [one["role"] for one in made.json()["invitations"]] == ["annotator", "reviewer"]
        link = made.json()["invitations"][0]["path"]
        assert operator.get(link).status_code == 200
        assert operator.get(link.replace("join/", "join/x")).status_code == 403
        gone = operator.send("POST", "/api/projects", {**plan, "name": "again"})
        assert (gone.status_code, gone.json()["error"]) == (
            404,
            "The file is no longer on the server; choose it again.",
        )
        assert [path.name for path in tmp_path.iterdir() if path.name != ".serve.lock"] == ["My-mails"]
    project = Project.open(tmp_path / "My-mails")
    settings = project.settings()
    assert [settings[name] for name in ("budget", "validation_share", "backbone")] == [50, 0.1, "tiny"]
    with project.reads() as session:
        names = [(one.name, one.description) for one in classes.active(session)]
        assert names == [("spam", "unwanted"), ("news", ""), ("ham", "")]
        assert counts(session)["labelled"] == 2
    project.close()


def test_several_classes_per_text_and_suggestions(tmp_path: Path) -> None:
    with visited(tmp_path) as operator:
        rows = b"text,bug,idea\nit crashes,1,0\nplease add,0,1\nboth,1,1\n"
        found = send_file(operator, rows, text="text", label=["bug", "idea"], multi_label=True).json()
        assert (found["multi_label"], found["labels"]) == (True, {"bug": 2, "idea": 2})
        plan = {"name": "sets", "upload": found["upload"], "text": "text", "label": ["bug", "idea"]}
        made = operator.send("POST", "/api/projects", {**plan, "multi_label": True, "suggested": True})
        assert (made.json()["texts"], made.json()["labelled"]) == (3, 0)
    project = Project.open(tmp_path / "sets")
    assert project.setting("multi_label")
    project.close()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"text": ""}, "Choose the column of the texts."),
        (
            {"text": "nothing"},
            "my_mails.csv: there is no column 'nothing'; its columns are body, kind, n: choose the columns",
        ),
        ({"backbone": "../../etc"}, "There is no encoder '../../etc' to choose; take one of tiny, auto, minilm"),
        ({"budget": 0}, "The setting 'budget' must be at least 1, not 0."),
        ({"validation_share": 0.9}, "The setting 'validation_share' must be between 0 and 0.5, not 0.9."),
        ({"classes": [{"name": " "}]}, "A class needs a name of 1 to 200 characters."),
        ({"invitations": ["annotator"]}, "Nobody can be invited here"),
        ({"name": "..."}, "The name of a project needs a letter or a digit."),
    ],
)
def test_what_cannot_be_created_is_refused_and_the_file_is_kept(
    tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    with visited(tmp_path) as operator:
        plan = {"name": "Mails", "upload": send_file(operator).json()["upload"], "text": "body"}
        refused = operator.send("POST", "/api/projects", {**plan, **change})
        assert refused.status_code in (400, 409)
        assert sentence in refused.json()["error"]
        assert str(tmp_path) not in refused.text
        assert [*operator.projects()] == []
        assert operator.send("POST", "/api/projects", plan).status_code == 200


def test_a_file_that_cannot_be_read_is_not_kept(tmp_path: Path) -> None:
    with visited(tmp_path) as operator:
        refused = send_file(operator, b"PK\x03\x04 no table", "x.xlsx")
        assert refused.status_code == 400
        assert operator.client.app.state.held.tokens() == []  # type: ignore[attr-defined]
        assert operator.client.post("/api/uploads", files={"file": ("x.csv", MAILS)}).status_code == 403
        held = send_file(operator).json()["upload"]
        assert operator.client.app.state.held.find(held, new_project.OPERATOR).path.exists()  # type: ignore[attr-defined]
