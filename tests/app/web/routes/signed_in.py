"""Browsers that are signed in to a project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select

from hybridal.app.db.schema import Person
from hybridal.app.people import add_person, sign_in
from hybridal.app.project import Project
from hybridal.app.web.auth import LoginLink, cookie_name
from hybridal.app.web.web_app import create_app


@contextmanager
def browser(
    project: Project, name: str = "me", *, local: bool = False, app: FastAPI | None = None
) -> Iterator[TestClient]:
    """A browser that is signed in as this person (new people are annotators) and sends the CSRF token.

    With `local`, the app serves only this machine, so that its owner may enter internal addresses.
    """
    with project.sessions.begin() as session:
        person = session.scalar(select(Person).where(Person.name == name)) or add_person(session, name, "annotator")
        cookie = sign_in(session, person)
    project.owner_is_operator = local
    served = app or create_app(project, LoginLink() if local else None)
    with TestClient(served, base_url="http://localhost", cookies={cookie_name(project): cookie}) as client:
        client.headers["X-CSRF-Token"] = client.get("/api/project").json()["csrf_token"]
        yield client


def promote(project: Project, name: str, role: str) -> None:
    with project.sessions.begin() as session:
        person = session.scalar(select(Person).where(Person.name == name)) or add_person(session, name, role)
        person.role = role
