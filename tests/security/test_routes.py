"""Every route x every role x another project's credentials and numbers.

Broken access control is the most frequent class among rivals. MLflow let through every route without a registered check
(GHSA-m97m-jq2c-qw46), served its job API without a login (CVE-2026-0545) and let strangers make accounts
(GHSA-4qq5-mxxx-m6gg). Here a new route fails the test until the table says which role it needs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hybridal.app.project import Project
from hybridal.app.trainer.trainer_slots import TrainerQueue
from hybridal.app.web.auth import cookie_name
from hybridal.app.web.host import Host
from hybridal.app.web.operator import Operator
from hybridal.app.web.start import create_start_app
from hybridal.app.web.web_app import create_app

from ..app.made_up import create, me, people
from ..app.web.visits import HOME, Visit, local, signed_in, with_token
from .access import (
    ANNOTATOR_AT_BROWSER,
    LEAST,
    OPEN,
    OWNER_AT_BROWSER,
    REVIEWERS_TOKEN,
    ROLES,
    START_OPEN,
    START_OPERATOR,
    Address,
    filled,
    routes,
)


def refused(visit: Visit, address: Address) -> bool:
    """Whether a visitor is turned away, by a status or to the page of the login."""
    method, path = address[0], filled(address[1])
    is_file = path in ("/api/texts", "/api/texts/preview", "/api/import/label-studio") and method == "POST"
    body: dict[str, Any] = {"files": {"file": ("x.csv", b"text\nx\n")}} if is_file else {}
    answer = visit.send(method, path, None if is_file or method == "GET" else {}, **body)
    return answer.status_code in (401, 403) or answer.headers.get("location") == "/login"


def test_every_route_is_classified(app: FastAPI, tmp_path: Path) -> None:
    assert routes(app) == OPEN | LEAST.keys()
    start = create_start_app(Host(tmp_path, TrainerQueue(), local=False, settings={}), Operator("a password"), None)
    assert routes(start) == START_OPEN | START_OPERATOR


def test_without_a_login_only_the_open_routes_answer(app: FastAPI, stranger: Visit) -> None:
    with_guess = Visit(app)
    with_guess.client.headers["Authorization"] = "Bearer hybridal_guessed"
    for visit in (stranger, with_guess):
        assert {address for address in LEAST if not refused(visit, address)} == set()
    for method, path in OPEN:
        body: dict[str, Any] | None = None if method == "GET" else {}
        assert stranger.send(method, filled(path), body).status_code in (200, 403, 404, 422), path


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", ["browser", "token"])
def test_a_role_reaches_its_routes_and_no_others(app: FastAPI, project: Project, kind: str, role: str) -> None:
    if kind == "browser":
        person = me(project) if role == "owner" else people(project, 1, role)[0]
        visit, never = signed_in(app, person), REVIEWERS_TOKEN
    else:
        visit = with_token(app, me(project), role)
        pages = {address for address in LEAST if not address[1].startswith(("/api/", "/ml/"))}
        never = ANNOTATOR_AT_BROWSER | OWNER_AT_BROWSER | pages
    may = {address for address, least in LEAST.items() if ROLES.index(role) >= ROLES.index(least)} - never
    addresses = LEAST.keys() - {("POST", "/api/logout")}
    assert {address for address in addresses if not refused(visit, address)} == may - {("POST", "/api/logout")}


def test_credentials_of_another_project_open_nothing(app: FastAPI, project: Project, tmp_path: Path) -> None:
    other = create(tmp_path / "other")
    owner_there = signed_in(local(other), me(other))
    program_there = with_token(local(other), me(other), "owner")
    cookie = str(owner_there.client.cookies[cookie_name(other)])
    stolen, program = Visit(app), Visit(app)
    stolen.client.cookies.set(cookie_name(project), cookie)
    stolen.csrf_token = owner_there.csrf_token
    program.client.headers["Authorization"] = program_there.client.headers["Authorization"]
    for visit in (stolen, program):
        assert {address for address in LEAST if not refused(visit, address)} == set()
    other.close()


def test_a_change_needs_the_csrf_token_of_this_login(app: FastAPI, project: Project, owner: Visit) -> None:
    """Pages of other sites uploaded files to a local Gradio through the visitor's browser (GHSA-48cq-79qq-6f7x)."""
    another = signed_in(app, me(project))
    for owner.csrf_token in ("", "guessed", another.csrf_token):
        for method, path in LEAST:
            if method != "GET" and path.startswith("/api/"):
                assert owner.send(method, filled(path), {}).status_code == 403, (method, path)


def test_numbers_of_other_people_lead_nowhere(app: FastAPI, project: Project) -> None:
    """Direct object references: a token or an answer is only found by the person that it belongs to."""
    first, second = (signed_in(app, person) for person in people(project, 2, "reviewer"))
    token = first.post("/api/tokens", {"name": "mine", "role": "reviewer"}).json()
    assert second.get("/api/tokens").json()["items"] == []
    assert second.post(f"/api/tokens/{token['number']}/revoke").status_code == 404
    answer = {"key": "first", "text": "t1", "action": "label", "class": "a"}
    assert first.post("/api/annotations", answer).status_code == 200
    taken_back = second.post("/api/undo", {"key": "second", "undoes": "first"})
    assert taken_back.status_code != 200 or taken_back.json()["item"] is None
    assert [one["class"] for one in first.get("/api/texts/t1").json()["annotations"]] == ["a"]
    # A key that another person used is not theirs to answer under.
    assert second.post("/api/annotations", {**answer, "class": "b"}).status_code in (200, 409)
    assert first.get("/api/texts/t1").json()["annotations"][0]["class"] == "a"
    password = {"number": me(project).number, "new": "taken over"}
    assert second.post("/api/password", password).status_code == 403


def test_the_start_page_is_its_operators(tmp_path: Path) -> None:
    create(tmp_path / "p").close()
    host = Host(tmp_path, TrainerQueue(), local=False, settings={})
    app = create_start_app(host, Operator("a password"), None)
    visit = TestClient(app, base_url=HOME, follow_redirects=False)
    for method, path in sorted(START_OPERATOR):
        answer = visit.request(method, filled(path), json=None if method == "GET" else {})
        assert answer.status_code == 401 or answer.headers["location"] in ("/login", "/"), (method, path)
        assert "set-cookie" not in answer.headers


def test_a_fresh_app_has_no_default_credentials(tmp_path: Path) -> None:
    """MLflow's administrator was admin/password1234 (GHSA-gq3w-7jj3-x7gr), Argilla's images ship known API keys, and
    Label Studio (CVE-2023-43791) and COCO Annotator (CVE-2024-10141) signed sessions with a key from the source code.
    """
    found = set()
    for name in ("p", "q"):
        project = create(tmp_path / name)
        visit = Visit(create_app(project))
        for person in ("me", "admin", "owner", "argilla", "(file)"):
            for password in ("", "password", "12345678", "password1234", "admin", "a stranger's password"):
                visit.client.app.state.tries._left.clear()  # type: ignore[attr-defined]
                visit.client.app.state.visits._left.clear()  # type: ignore[attr-defined]
                assert visit.post("/api/login", {"name": person, "password": password}).status_code == 401
        for key in ("argilla.apikey", "owner.apikey", "hybridal_", "null", ""):
            visit.client.headers["Authorization"] = f"Bearer {key}"
            assert visit.get("/api/project").status_code == 401
        found.add(project.settings()["key"])
        project.close()
    assert len(found) == 2
