"""Projects with several classes per text, over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybridal.app.labelling.texts import add
from hybridal.app.project import Project
from hybridal.app.trainer.stored_predictions import ScoredTexts, keep_predictions

from ...made_up import make, me, people
from ..visits import Visit, local, signed_in


@pytest.fixture
def project(tmp_path: Path, db: str | None) -> Iterator[Project]:
    made = make(tmp_path / "p", db=db, multi_label=True, overlap=1.0, validation_first=0, validation_share=0.0)
    yield made
    made.close()


def label(visit: Visit, key: str, text: str = "t1", **more: Any) -> tuple[int, str]:
    reply = visit.post("/api/annotations", {"key": key, "text": text, "action": "label", **more})
    return reply.status_code, reply.json().get("error", "")


def test_the_kind_of_the_project_is_shown(project: Project, tmp_path: Path) -> None:
    owner = signed_in(local(project), me(project))
    found = owner.get("/api/project").json()
    assert (found["multi_label"], found["settings"]["consensus_per"]) == (True, "set")
    other = make(tmp_path / "other")
    assert signed_in(local(other), me(other)).get("/api/project").json()["multi_label"] is False
    other.close()


def test_sets_and_decisions_are_saved_and_shown(project: Project) -> None:
    owner = signed_in(local(project), me(project))
    assert label(owner, "1", classes=["c", "a"]) == (200, "")
    assert label(owner, "1", classes=["c", "a"]) == (200, "")  # sent again
    assert label(owner, "2", "t2", classes=[]) == (200, "")
    assert label(owner, "3", "t3", decisions={"b": True, "a": None}) == (200, "")
    items = {one["id"]: one for one in owner.get("/api/texts").json()["items"]}
    assert (items["t1"]["class"], items["t1"]["classes"], items["t1"]["source"]) == (None, ["a", "c"], "people")
    assert items["t2"]["classes"] == []
    assert (items["t3"]["classes"], items["t3"]["decisions"]) == (["b"], {"b": True})
    assert "decisions" not in items["t1"]
    assert "classes" not in items["t4"]
    history = owner.get("/api/texts/t3").json()["annotations"]
    assert [one["decisions"] for one in history] == [{"a": None, "b": True}]
    assert [one["id"] for one in owner.get("/api/texts", **{"class": "a"}).json()["items"]] == ["t1"]
    [mine] = [one for one in owner.get("/api/next", n=50).json()["items"] if one["id"] == "t3"]
    assert mine["decisions"] == {"a": None, "b": True}
    undone = owner.post("/api/undo", {"key": "u"}).json()
    assert (undone["item"]["id"], undone["counts"]["labelled"]) == ("t3", 2)
    people = {one["name"]: one["labels"] for one in owner.get("/api/people").json()["items"]}
    assert people[me(project).name] == 2


@pytest.mark.parametrize(
    ("wrong", "status", "sentence"),
    [
        ({"class": "a"}, 400, "may have several classes"),
        ({}, 400, "needs either"),
        ({"classes": ["a"], "decisions": {"b": True}}, 400, "needs either"),
        ({"classes": ["nothing"]}, 404, "There is no class"),
        ({"decisions": {"a": "maybe"}}, 422, ""),
    ],
)
def test_the_wrong_kind_of_answer_is_refused(
    project: Project, wrong: dict[str, Any], status: int, sentence: str
) -> None:
    found, why = label(signed_in(local(project), me(project)), "1", **wrong)
    assert found == status
    assert sentence in why


def test_sets_are_refused_where_a_text_has_one_class(tmp_path: Path) -> None:
    project = make(tmp_path / "p")
    status, why = label(signed_in(local(project), me(project)), "1", classes=["a"])
    assert (status, "exactly one class" in why) == (400, True)
    project.close()


def test_people_agree_on_sets_or_on_each_class_as_the_owner_decides(project: Project) -> None:
    app = local(project)
    owner, (ann, bo) = signed_in(app, me(project)), (signed_in(app, one) for one in people(project, 2))
    label(ann, "1", classes=["a", "b"])
    label(bo, "2", classes=["a", "c"])

    def shown() -> dict[str, object]:
        [item] = owner.get("/api/texts", id="t1").json()["items"]
        return {name: item.get(name) for name in ("classes", "decisions", "source")}

    counts = owner.get("/api/project").json()["counts"]
    assert (counts["labelled"], counts["disagreements"]) == (0, 1)
    assert shown() == {"classes": None, "decisions": None, "source": None}
    assert owner.patch("/api/settings", {"consensus_per": "class"}).status_code == 200
    counts = owner.get("/api/project").json()["counts"]
    assert (counts["labelled"], counts["disagreements"]) == (1, 1)
    assert shown() == {"classes": ["a"], "decisions": {"a": True, "b": None, "c": None}, "source": "people"}
    decided = {"key": "d", "text": "t1", "decisions": {"b": True}}
    assert owner.post("/api/adjudications", decided).json()["counts"]["disagreements"] == 1
    assert shown()["decisions"] == {"a": True, "b": True, "c": None}
    whole = {"key": "e", "text": "t1", "classes": ["a", "b"]}
    assert owner.post("/api/adjudications", whole).json()["counts"]["disagreements"] == 0
    assert shown() == {"classes": ["a", "b"], "decisions": None, "source": "adjudicated"}
    assert ann.get("/api/texts", id="t1").json()["items"][0]["classes"] == ["a", "b"]
    assert bo.get("/api/texts", id="t1").json()["items"][0]["classes"] == ["a", "c"], "annotators see their own"


def test_one_class_is_confirmed_for_many_texts_and_undone(project: Project) -> None:
    owner = signed_in(local(project), me(project))
    label(owner, "1", "t1", decisions={"b": False})
    given = {"key": "k", "class": "a", "texts": ["t1", "t2"]}
    assert owner.post("/api/decisions/many", given).json()["n"] == 2
    items = {one["id"]: one for one in owner.get("/api/texts").json()["items"]}
    assert items["t1"]["decisions"] == {"a": True, "b": False}
    assert items["t2"]["decisions"] == {"a": True}
    assert owner.post("/api/decisions/many", {**given, "key": "n", "class": "nothing"}).status_code == 404
    assert owner.post("/api/undo/many", {"key": "u", "undoes": "k"}).json()["n"] == 2
    items = {one["id"]: one for one in owner.get("/api/texts").json()["items"]}
    assert (items["t1"]["decisions"], "classes" in items["t2"]) == ({"b": False}, False)
    many = {"key": "m", "labels": {"t3": ["a"], "t4": []}}
    assert owner.post("/api/annotations/many", many).json()["n"] == 2


def test_agreement_and_disagreements_are_about_sets(project: Project) -> None:
    app = local(project)
    owner, (ann, bo) = signed_in(app, me(project)), (signed_in(app, one) for one in people(project, 2))
    for text, mine, theirs in (("t1", ["a"], ["a", "b"]), ("t2", ["c"], ["c"]), ("t3", [], [])):
        label(ann, f"1{text}", text, classes=mine)
        label(bo, f"2{text}", text, classes=theirs)
    found = owner.get("/api/agreement").json()
    assert (found["texts"], [one["name"] for one in found["classes"]]) == (3, ["a", "b", "c"])
    assert found["between"][0]["contested"] == [{"name": "b", "one": 0, "other": 1}]
    assert [one["contested"] for one in owner.get("/api/disagreements").json()["items"]] == [["b"]]


@pytest.mark.parametrize("how", ["kept", "out"])
def test_an_archived_class_is_neither_predicted_nor_suggested(project: Project, how: str) -> None:
    owner = signed_in(local(project), me(project))
    with project.sessions.begin() as session:
        add(session, [("new", "a new text", frozenset({"a", "c"}))], suggested=True)
    probabilities = np.array([[0.9, 0.8, 0.1]], dtype=np.float32)
    keep_predictions(project, 1, ScoredTexts(["new"], probabilities, (1, 2, 3), thresholds=(0.5, 0.5, 0.5)))
    assert owner.patch("/api/classes/1", {"archived": how}).status_code == 200
    [found] = owner.get("/api/texts", id="new").json()["items"]
    assert found["prediction"]["classes"] == ["b"]
    [item] = [one for one in owner.get("/api/next", n=50).json()["items"] if one["id"] == "new"]
    assert item["suggestions"] == ["c"]
    many = {"key": "m", "labels": {"new": found["prediction"]["classes"]}}
    assert owner.post("/api/annotations/many", many).json()["n"] == 1


def test_the_reference_has_commands_that_this_project_takes(project: Project) -> None:
    owner = signed_in(local(project), me(project))
    page = unescape(owner.get("/programs/api").text)
    [example] = re.findall(r"-d '([^']*)' \\\s+\S+/api/annotations\b(?!/)", page)
    [many] = re.findall(r"-d '([^']*)' \\\s+\S+/api/annotations/many", page)
    for path, text in (("/api/annotations", example), ("/api/annotations/many", many)):
        body = json.loads(text.replace("t17", "t1" if path == "/api/annotations" else "t2").replace("bug", "a"))
        assert owner.post(path, body).status_code == 200, text
