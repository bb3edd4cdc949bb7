from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.removed_classes import remove, update_texts
from hybridal.app.labelling.requirements import apply_rule_to_some, unsettled
from hybridal.app.project import Project
from hybridal.app.web import background_updates as module

from ..made_up import check_books, consensus, me, people
from .visits import Visit


def test_a_deletion_of_a_class_that_was_cut_off_goes_on(
    app: FastAPI, owner: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    project: Project = app.state.project
    failures = iter([OperationalError("", {}, Exception("disk is full"))])

    def fail_once(session: Session, rows: Sequence[int]) -> None:
        for failure in failures:
            raise failure
        update_texts(session, rows)

    monkeypatch.setattr(module, "update_texts", fail_once)
    monkeypatch.setattr(module, "ROWS_PER_TRANSACTION", 1)
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.01)
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


def differ(project: Project) -> None:
    """Of three texts two people out of three say the same."""
    for person, name in zip((me(project), *people(project, 2, "reviewer")), "aab", strict=True):
        with project.sessions.begin() as session:
            for at in range(3):
                annotate(session, person, f"t{at}", "label", class_name=name, key=f"{person.number}-{at}")


def test_a_rule_reaches_all_texts_before_its_answer(
    owner: Visit, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS_PER_TRANSACTION", 2)
    differ(project)
    assert owner.get("/api/texts", state="labelled").json()["total"] == 0
    owner.patch("/api/settings", {"on_disagreement": "majority"})
    found = owner.get("/api/texts", state="labelled").json()
    assert {item["id"]: item["class"] for item in found["items"]} == {"t0": "a", "t1": "a", "t2": "a"}


def test_a_rule_that_was_cut_off_goes_on(app: FastAPI, owner: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    project: Project = app.state.project
    failures = iter([OperationalError("", {}, Exception("disk is full"))])

    def fail_once(session: Session, n: int) -> bool:
        for failure in failures:
            raise failure
        return apply_rule_to_some(session, n)

    monkeypatch.setattr(module, "apply_rule_to_some", fail_once)
    monkeypatch.setattr(module, "ROWS_PER_TRANSACTION", 1)
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.01)
    differ(project)
    project.decide({"on_disagreement": "majority"})
    # In the middle a list says what was settled before.
    assert {item["class"] for item in owner.get("/api/texts").json()["items"]} == {None}

    def left() -> bool:
        with project.reads() as session:
            return unsettled(session)

    with TestClient(app):
        end = time.monotonic() + 30
        while left():
            assert time.monotonic() < end
    assert consensus(project) == {f"t{at}": ("a", "people") for at in range(3)}
    with project.reads() as session:
        check_books(session)
