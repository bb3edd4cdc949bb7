"""Browsers for tests."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from hybridal.app.api_tokens import make_token
from hybridal.app.db.schema import Person
from hybridal.app.people import User, sign_in
from hybridal.app.project import Project
from hybridal.app.web.auth import LoginLink, cookie_name
from hybridal.app.web.web_app import create_app

HOME = "http://localhost:8420"


class Visit:
    """A browser that sends the CSRF token of its project."""

    def __init__(self, app: FastAPI, prefix: str = "") -> None:
        self.client = TestClient(app, base_url=HOME, follow_redirects=False, root_path=prefix)
        self.csrf_token = ""

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(path, params=query)

    def send(self, method: str, path: str, json: Any = None, **more: Any) -> Any:
        return self.client.request(method, path, json=json, headers={"X-CSRF-Token": self.csrf_token}, **more)

    def post(self, path: str, json: Any = None, **more: Any) -> Any:
        return self.send("POST", path, json, **more)

    def patch(self, path: str, json: Any) -> Any:
        return self.send("PATCH", path, json)

    def arrive(self, prefix: str = "") -> Visit:
        """Reads the project, as every page does first."""
        found = self.get(f"{prefix}/api/project")
        assert found.status_code == 200, found.text
        self.csrf_token = found.json()["csrf_token"]
        return self


def local(project: Project) -> FastAPI:
    """The app on its owner's machine."""
    return create_app(project, LoginLink(), requests_a_minute=100_000)


def signed_in(app: FastAPI, person: Person, prefix: str = "") -> Visit:
    """The browser of a signed-in person."""
    project: Project = app.state.project
    with project.sessions.begin() as session:
        token = sign_in(session, person)
    visit = Visit(app, prefix)
    visit.client.cookies.set(cookie_name(project), token)
    return visit.arrive(prefix)


def with_token(app: FastAPI, person: Person, role: str) -> Visit:
    """A program with a person's token; it has neither a cookie nor a CSRF token."""
    project: Project = app.state.project
    with project.sessions.begin() as session:
        _, secret = make_token(session, User(person, "", ""), "a program", role)
    visit = Visit(app)
    visit.client.headers["Authorization"] = f"Bearer {secret}"
    return visit
