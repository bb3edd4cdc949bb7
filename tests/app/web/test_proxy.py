from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hybridal.app.project import Project
from hybridal.app.serve import name_owner
from hybridal.app.web.proxy import PROXIES_VARIABLE, Proxies, ProxyHeaders, check_sign_in
from hybridal.app.web.web_app import create_app
from hybridal.errors import UserError

from ..made_up import me, people
from .visits import HOME, signed_in, with_token

PROXY, STRANGER = ("10.0.0.1", 1234), ("192.0.2.66", 1234)


@pytest.mark.parametrize(
    ("proxies", "forwarded", "client"),
    [
        ("10.0.0.1", "192.0.2.7", "192.0.2.7"),
        ("10.0.0.1", "6.6.6.6, 192.0.2.7", "192.0.2.7"),  # the client may have forged the left one
        ("10.0.0.1, 10.9.0.0/16", "6.6.6.6, 192.0.2.7:99, 10.9.1.1", "192.0.2.7"),
        ("10.0.0.0/8", "10.2.2.2, 10.3.3.3", "10.2.2.2"),
        ("*", "6.6.6.6, 192.0.2.7", "192.0.2.7"),  # whom the proxy heard, not what that one claimed
        ("*", "6.6.6.6, [2001:db8::1]:80", "2001:db8::1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("127.0.0.1", "192.0.2.7", "10.0.0.1"),  # not a proxy: what it says does not count
    ],
)
def test_client_address_is_taken_from_trusted_proxies_only(proxies: str, forwarded: str, client: str) -> None:
    async def tell(scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": f"{scope['client'][0]} {scope['scheme']}".encode()})

    headers = {"X-Forwarded-For": forwarded, "X-Forwarded-Proto": "https"}
    visit = TestClient(ProxyHeaders(tell, Proxies(proxies)), base_url=HOME, client=PROXY)
    scheme = "http" if client == "10.0.0.1" and proxies == "127.0.0.1" else "https"
    assert visit.get("/", headers=headers).text == f"{client} {scheme}"


@pytest.fixture
def behind(project: Project) -> FastAPI:
    return create_app(project, requests_a_minute=100_000)


def come(behind: FastAPI, name: str | None, client: tuple[str, int] = PROXY) -> TestClient:
    """A browser of a person whom a proxy signed in."""
    app = ProxyHeaders(behind, Proxies("10.0.0.0/8"), "X-Remote-User")
    # As the proxy sends it, in UTF-8.
    headers = {} if name is None else {b"X-Remote-User": name.encode()}
    visit = TestClient(app, base_url=HOME, client=client, follow_redirects=False, headers=headers)  # type: ignore[arg-type]
    found = visit.get("/api/project")
    if found.status_code == 200:
        visit.headers["X-CSRF-Token"] = found.json()["csrf_token"]
    return visit


def test_a_person_signed_in_by_the_proxy_gets_the_role_set_by_the_owner(behind: FastAPI, project: Project) -> None:
    name_owner(project, "ada@example.org")
    ada, zoe = come(behind, "ada@example.org"), come(behind, "Zoë")
    assert ada.get("/api/project").json()["me"] == {"number": 1, "name": "ada@example.org", "role": "owner"}
    assert zoe.get("/api/project").json()["me"] == {"number": 2, "name": "Zoë", "role": "annotator"}
    assert zoe.get("/").status_code == 200
    label = {"key": "k", "text": "t1", "action": "label", "class": "a"}
    assert zoe.post("/api/annotations", json=label).status_code == 200
    assert zoe.post("/api/annotations", json=label, headers={"X-CSRF-Token": "forged"}).status_code == 403
    assert ada.patch("/api/settings", json={"newcomers": "reviewer"}).json()["newcomers"] == "reviewer"
    assert come(behind, "Bo").get("/api/project").json()["me"]["role"] == "reviewer"
    ada.patch("/api/settings", json={"newcomers": "none"})
    refused = come(behind, "Cy").get("/api/project")
    assert (refused.status_code, "ask its owner" in refused.json()["error"]) == (403, True)
    assert come(behind, "Bo").get("/api/project").status_code == 200
    number = next(one["number"] for one in ada.get("/api/people").json()["items"] if one["name"] == "Bo")
    ada.patch("/api/people", json={"number": number, "active": False})
    assert "may not come in" in come(behind, "Bo").get("/api/project").json()["error"]
    assert [one["name"] for one in ada.get("/api/people").json()["items"]] == ["ada@example.org", "Zoë", "Bo"]


def test_identity_header_is_trusted_only_from_the_proxy(behind: FastAPI, project: Project) -> None:
    name_owner(project, "ada")
    assert come(behind, "ada", STRANGER).get("/api/project").status_code == 401
    assert come(behind, None).get("/api/project").status_code == 401
    assert come(behind, None).get("/").headers["location"] == "/login"
    assert "Sign in first" in come(behind, None).get("/login").text
    twice = come(behind, None)
    both = [("X-Remote-User", "bo"), ("X-Remote-User", "ada")]
    assert twice.get("/api/project", headers=both).status_code == 401
    late = come(behind, None)
    late.cookies = signed_in(behind, me(project)).client.cookies  # of the days before there was such a proxy
    assert late.get("/api/project").status_code == 401
    assert TestClient(behind, base_url=HOME).get("/api/project", headers={"X-Remote-User": "ada"}).status_code == 401


@pytest.mark.parametrize("name", ["(file)", "", " ", "a\tb\u200b\u2028", "x" * 100])
def test_invalid_user_names_are_refused(behind: FastAPI, name: str) -> None:
    assert come(behind, name).get("/api/project").status_code in (400, 401, 403)


def test_there_are_no_passwords_and_no_invitations(behind: FastAPI, project: Project) -> None:
    name_owner(project, "ada")
    ada = come(behind, "ada")
    sent: dict[str, dict[str, Any]] = {
        "/api/login": {"name": "ada", "password": "correct horse"},
        "/api/join": {"name": "x", "password": "correct horse", "token": "t"},
        "/api/password": {"new": "correct horse"},
        "/api/invitations": {"role": "owner"},
    }
    for path, body in sent.items():
        answer = ada.post(path, json=body)
        assert (answer.status_code, "A proxy signs people in" in answer.json()["error"]) == (403, True), path
    page = ada.get("/people").text
    assert ("New people are" in page, "Make a link" in page, "sign-out" in page) == (True, False, False)


def test_a_program_still_comes_with_its_token(behind: FastAPI, project: Project) -> None:
    token = with_token(behind, people(project, 1)[0], "annotator").client.headers["Authorization"]
    visit = come(behind, None)
    assert visit.get("/api/project", headers={"Authorization": token}).status_code == 200
    assert me(project).name == "me"


@pytest.mark.parametrize(
    ("header", "behind_proxy", "proxies", "why"),
    [
        ("X-Remote-User", False, "127.0.0.1", "Run the app behind a proxy"),
        ("X-Remote-User", True, "*", "Set it to the proxy's address"),
        ("X User", True, "127.0.0.1", "not the name of a header"),
    ],
)
def test_a_header_that_others_could_send_is_not_believed(
    header: str, behind_proxy: bool, proxies: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PROXIES_VARIABLE, proxies)
    with pytest.raises(UserError, match=why):
        check_sign_in(header, behind_proxy)
