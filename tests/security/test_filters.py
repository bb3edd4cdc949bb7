"""Filters, orders and lists reveal nothing that the page would not show to the same person.

Label Studio's filters followed relations to any column, secrets among them, character by character (CVE-2023-47117, its
pull request 5012). Here every request of an annotator gets the same answer, whatever other people annotated.
"""

from __future__ import annotations

import json
from itertools import product
from typing import Any, get_args

import pytest
from fastapi import FastAPI
from sqlalchemy import select

from hybridal.app.db.schema import AccessToken, Invitation, LoginSession, Person, Webhook
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.comments import begin_thread
from hybridal.app.labelling.text_search import State
from hybridal.app.people import User, add_person, hash_password, invite
from hybridal.app.project import Project

from ..app.exchange.projects import prediction
from ..app.made_up import me, people
from ..app.web.visits import Visit, signed_in, with_token
from .access import LEAST, filled

WORDS = (
    "",
    "text 1",
    "secret comment",
    "Another Person",
    "b",
    "%",
    "_",
    "text*",
    '"',
    "NEAR",
    "text 1' OR '1'='1",
    "\\",
)
STATES = (None, *(state for state in get_args(State) if state != "deleted"))


def answers(visit: Visit) -> dict[str, Any]:
    """Answers to every combination of filters, and for each text."""
    found: dict[str, Any] = {}
    for words, state, name in product(WORDS, STATES, ("", "a", "b")):
        asked = {"search": words, "class": name, "whole": True} | ({"state": state} if state else {})
        found[json.dumps(asked)] = visit.get("/api/texts", **asked).json()
    for id in ("t0", "t1", "t2"):
        found[id] = visit.get(f"/api/texts/{id}").json()
        found[f"only {id}"] = visit.get("/api/texts", id=id).json()
    return found


def test_an_annotator_learns_nothing_of_other_peoples_answers(app: FastAPI, project: Project) -> None:
    person, other = people(project, 2)
    visit = signed_in(app, person)
    with project.sessions.begin() as session:
        annotate(session, person, "t0", "label", class_name="a", key="mine")
    before = answers(visit)
    with project.sessions.begin() as session:
        other = session.get_one(Person, other.number)
        other.name = "Another Person"
        annotate(session, other, "t0", "label", class_name="b", comment="secret comment", flagged=True, key="1")
        annotate(session, other, "t1", "label", class_name="b", comment="secret comment", key="2")
        annotate(session, other, "t2", "skip", comment="secret comment", flagged=True, key="3")
        prediction(session, "t1", "b", 0.75)
    assert answers(visit) == before


REFUSED = [
    *("order=password", "order=body", "order=-probability", "state=secret", "page=0", "page=-1", "page=1e9"),
    *("state=deleted", "order=sure", "order=doubt", "predicted=a"),
]
UNKNOWN = [
    *("person__password__startswith=a", "annotations__person__password__regex=.*", "filters[0][column]=password"),
    *("fields=password", "include=annotations", "sort=password", "where=1=1", "role=owner", "user=1", "expand=all"),
]


def test_an_annotator_learns_nothing_of_comments_between_others(app: FastAPI, project: Project) -> None:
    person, other = people(project, 2)
    visit = signed_in(app, person)
    paths = ("/api/next", "/api/next/spare", "/api/comments", "/api/texts/t0", "/api/texts/t1", "/api/project")
    before = [visit.get(path).json() for path in paths]
    with project.sessions.begin() as session:
        begin_thread(session, User(other, "", ""), "t0", me(project).number, "secret comment", "1")
        begin_thread(session, User(other, "", ""), "t1", None, "secret comment", "2")
    assert [visit.get(path).json() for path in paths] == before


def test_an_order_or_state_that_is_not_offered_is_refused(annotator: Visit) -> None:
    for query in REFUSED:
        assert annotator.client.get(f"/api/texts?{query}").status_code in (403, 422), query


def test_an_unknown_parameter_changes_nothing(annotator: Visit) -> None:
    for query in UNKNOWN:
        assert annotator.client.get(f"/api/texts?{query}").json() == annotator.get("/api/texts").json(), query


def test_no_answer_holds_a_secret(
    app: FastAPI, project: Project, owner: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashes, tokens, signing secrets, keys and other logins' CSRF tokens, in all that an owner can read."""
    monkeypatch.setenv("HYBRIDAL_LLM_KEY", "sk-secret-key")
    other = signed_in(app, people(project, 1)[0])
    shown = str(with_token(app, me(project), "owner").client.headers["Authorization"]).removeprefix("Bearer ")
    with project.sessions.begin() as session:
        add_person(session, "Ann", "reviewer", hash_password("a long password"))
        _, link = invite(session, "annotator")
        told: dict[str, Any] = {"last_annotation": 0, "last_round": 0, "last_goal": 0}
        session.add(Webhook(url="https://example.org/", events=[], secret="whsec_c2VjcmV0", **told))
        session.flush()
        secrets = {shown, link, "sk-secret-key", "whsec_c2VjcmV0", other.csrf_token}
        for column in (Person.password, AccessToken.digest, Invitation.token, LoginSession.token):
            secrets |= {value for value in session.scalars(select(column)) if value}
    assert len(secrets) >= 9
    for method, path in LEAST:
        if method == "GET" and not path.startswith("/ml/"):
            answer = owner.get(filled(path))
            assert not [secret for secret in secrets if secret in answer.text], path
