from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import update
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Text
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.gone_classes import follow, remove
from hybridal.app.project import Project
from hybridal.app.web.routes import classes as module

from ...made_up import check_books, consensus, me
from ..visits import Visit


def test_texts_are_deleted_by_id_or_by_search_and_restored_by_time(owner: Visit, annotator: Visit) -> None:
    [one] = [owner.post("/api/texts/delete", {"ids": ["t3", "none"]}).json()]
    assert one["deleted"] == 1
    search = {"search": "text 1", "expected": 11}
    assert owner.post("/api/texts/delete", {"found": {**search, "expected": 10}}).status_code == 409
    all_of_them = owner.post("/api/texts/delete", {"found": {"search": " ", "expected": 19}})
    assert (all_of_them.status_code, "Search for the texts" in all_of_them.text) == (400, True)
    many = owner.post("/api/texts/delete", {"found": search}).json()
    assert many["deleted"] == 11
    untold = {"search": "text 1", "expected": None}
    assert owner.post("/api/texts/delete", {"found": untold}).status_code == 422
    assert owner.get("/api/texts").json()["total"] == 8
    assert owner.get("/api/project").json()["counts"]["texts"] == 8
    sent = {"key": "k", "text": "t12", "action": "skip"}
    assert annotator.post("/api/annotations", sent).json() == {"error": "The text 't12' was deleted."}
    assert [visit.get("/api/texts/t12").status_code for visit in (owner, annotator)] == [200, 404]
    assert annotator.get("/api/texts", state="deleted").status_code == 403
    assert owner.get("/api/texts", state="deleted").json()["total"] == 12
    assert owner.post("/api/texts/restore", {"at": many["at"]}).json() == {"restored": 11}
    assert owner.post("/api/texts/restore", {"ids": ["t3", "t4"]}).json() == {"restored": 1}
    assert owner.get("/api/texts").json()["total"] == 20


def test_a_deletion_of_a_class_that_was_cut_off_goes_on(
    app: FastAPI, owner: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    project: Project = app.state.project
    failures = iter([OperationalError("", {}, Exception("disk is full"))])

    def fail_once(session: Session, rows: Sequence[int]) -> None:
        for failure in failures:
            raise failure
        follow(session, rows)

    monkeypatch.setattr(module, "follow", fail_once)
    monkeypatch.setattr(module, "AT_ONCE", 1)
    monkeypatch.setattr(module, "LATER", 0.01)
    with project.sessions.begin() as session:
        for i in range(3):
            annotate(session, me(project), f"t{i}", "label", class_name="a", key=f"{i}")
        remove(session, 1)
    assert owner.get("/api/classes/deletion").json() == {"texts": 3}
    with TestClient(app):
        end = time.monotonic() + 30
        while owner.get("/api/classes/deletion").json()["texts"]:
            assert time.monotonic() < end
    assert consensus(project) == {}
    with project.reads() as session:
        check_books(session)


def test_a_class_that_is_archived_is_not_given_and_a_deleted_one_is_no_label(
    owner: Visit, annotator: Visit, project: Project
) -> None:
    sent = {"key": "1", "text": "t1", "action": "label", "class": "a"}
    assert annotator.post("/api/annotations", sent).status_code == 200
    with project.sessions.begin() as session:
        session.execute(update(Text).values(suggestion=1))
    assert {item["suggestion"] for item in owner.get("/api/next").json()["items"]} == {"a"}
    assert owner.patch("/api/classes/1", {"archived": "out"}).json()["archived"] == "out"
    assert {item["suggestion"] for item in owner.get("/api/next").json()["items"]} == {None}
    assert annotator.post("/api/annotations", sent).status_code == 200  # sent again, it counts once
    for path in ("/api/annotations", "/api/adjudications"):
        given = {"key": "2", "text": "t2", "class": "a"} | ({"action": "label"} if "ann" in path else {})
        refused = owner.post(path, given)
        assert (refused.status_code, refused.json()["error"]) == (409, "The class 'a' is archived; choose another.")
    assert [one["name"] for one in owner.get("/api/classes").json()["items"]] == ["b", "c"]
    assert [one["name"] for one in owner.get("/api/classes", archived=True).json()["items"]] == ["a", "b", "c"]
    assert "is archived; bring it back" in owner.post("/api/classes", {"name": "a"}).json()["error"]
    assert consensus(project) == {"t1": ("a", "people")}
    assert owner.post("/api/classes/1/delete").json() == {"texts": 1}
    assert owner.get("/api/classes/deletion").json() == {"texts": 0}
    assert consensus(project) == {}
    assert owner.post("/api/classes", {"name": "a"}).json()["number"] == 4
