from __future__ import annotations

import pytest
from fastapi import FastAPI

from hybridal.app.project import Project
from hybridal.app.web.auth import cookie_name
from hybridal.app.web.web_app import create_app

from ...made_up import me
from ..visits import Visit, signed_in, with_token

LABEL = {"key": "k", "text": "t1", "action": "label", "class": "a"}


def program(app: FastAPI, token: str, kind: str = "Bearer") -> Visit:
    visit = Visit(app)
    visit.client.headers["Authorization"] = f"{kind} {token}"
    return visit


def test_token_is_created_used_without_csrf_token_and_revoked(app: FastAPI, owner: Visit) -> None:
    made = owner.post("/api/tokens", {"name": "import", "role": "annotator"}).json()
    visit = program(app, made["token"])
    assert visit.post("/api/annotations", LABEL).status_code == 200
    assert visit.get("/api/project").json()["me"] == {"number": 1, "name": "me", "role": "annotator"}
    assert visit.get("/api/people").status_code == 403
    [listed] = owner.get("/api/tokens").json()["items"]
    assert made["token"] not in str(listed)
    assert (listed["name"], listed["role"], listed["person"]) == ("import", "annotator", "me")
    assert listed["used"] is not None
    assert owner.post(f"/api/tokens/{made['number']}/revoke").json() == {"ok": True}
    assert visit.get("/api/project").status_code == 401


def test_a_wrong_token_never_falls_back_on_a_cookie(app: FastAPI, owner: Visit) -> None:
    for wrong in ("", "hybridal_made_up", "Bearer x"):
        owner.client.headers["Authorization"] = f"Bearer {wrong}"
        assert owner.get("/api/project").status_code == 401
        assert owner.post("/api/annotations", LABEL).status_code == 401


def test_cookie_is_ignored_next_to_a_bearer_token(app: FastAPI, owner: Visit, project: Project) -> None:
    """The cookie's role does not apply, and the token does not lift the CSRF check of the cookie."""
    token = with_token(app, me(project), "annotator").client.headers["Authorization"]
    owner.client.headers["Authorization"] = token
    assert owner.get("/api/people").status_code == 403
    assert owner.post("/api/tokens", {"name": "more", "role": "owner"}).status_code == 403
    del owner.client.headers["Authorization"]
    owner.csrf_token = ""
    assert owner.post("/api/annotations", LABEL).status_code == 403


def test_a_token_is_no_cookie_and_a_cookie_no_token(app: FastAPI, owner: Visit, project: Project) -> None:
    token = with_token(app, me(project), "owner")
    secret = str(token.client.headers["Authorization"]).removeprefix("Bearer ")
    assert token.get("/api/project").status_code == 200  # it is known for a moment now
    cookie = owner.client.cookies[cookie_name(project)]
    assert program(app, cookie).get("/api/project").status_code == 401
    for sent in (secret, f"token {secret}"):
        visit = Visit(app)
        visit.client.cookies.set(cookie_name(project), sent)
        assert visit.get("/api/project").status_code == 401
    assert program(app, secret, "Basic").get("/api/project").status_code == 401
    assert program(app, secret).get("/").headers["location"] == "/login"  # pages are for browsers


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/password", {"new": "taken over"}),  # the owner here has none yet: a browser may set it without the old
        ("/api/tokens", {"name": "another", "role": "annotator"}),
        ("/api/logout", {}),
    ],
)
def test_a_token_opens_no_other_way_in(app: FastAPI, project: Project, path: str, body: dict[str, str]) -> None:
    answer = with_token(app, me(project), "owner").post(path, body)
    assert (answer.status_code, answer.json()["error"]) == (403, "A token may not do this; sign in with a browser.")


def test_removed_person_loses_their_tokens_for_good(app: FastAPI, owner: Visit, annotator: Visit) -> None:
    token = annotator.post("/api/tokens", {"name": "x", "role": "annotator"}).json()["token"]
    assert annotator.post("/api/tokens", {"name": "x", "role": "reviewer"}).status_code == 403
    visit = program(app, token)
    assert visit.get("/api/project").status_code == 200
    for active in (False, True):
        owner.patch("/api/people", {"number": 2, "active": active})
        assert visit.get("/api/project").status_code == 401


def test_a_program_that_asks_too_often_waits_and_its_person_does_not(project: Project) -> None:
    app = create_app(project, requests_a_minute=5)
    visit, browser = with_token(app, me(project), "owner"), signed_in(app, me(project))
    assert [visit.get("/api/classes").status_code for _ in range(6)] == [200] * 5 + [429]
    assert browser.get("/api/classes").status_code == 200
