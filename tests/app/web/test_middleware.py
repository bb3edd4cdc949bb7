from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.exc import OperationalError

from hybridal.app.app_errors import TooOftenError
from hybridal.app.project import Project
from hybridal.app.web.auth import LoginLink
from hybridal.app.web.middleware import SECURITY_HEADERS, RateLimiter
from hybridal.app.web.web_app import create_app

from ..made_up import create, me
from .visits import Visit, local, signed_in


@given(st.lists(st.floats(0, 30), max_size=60))
def test_rate_limit_allows_at_most_twice_the_limit_per_minute(pauses: list[float]) -> None:
    time = 0.0
    limit = RateLimiter(5, 60.0, clock=lambda: time)
    let_in: list[float] = []
    for pause in pauses:
        time += pause
        if limit.try_acquire("key"):
            let_in.append(time)
        assert sum(when > time - 60 for when in let_in) <= 10


def test_turns_come_back_evenly() -> None:
    time = 0.0
    limit = RateLimiter(10, 60.0, clock=lambda: time)
    assert [limit.try_acquire("key") for _ in range(12)] == [True] * 10 + [False] * 2
    time = 6.5
    assert [limit.try_acquire("key") for _ in range(2)] == [True, False]
    with pytest.raises(TooOftenError):
        limit.acquire("key")
    limit.acquire("another")


def test_keys_that_were_seen_long_ago_are_forgotten() -> None:
    time = 0.0
    limit = RateLimiter(5, 60.0, clock=lambda: time)
    for number in range(10_000):
        limit.try_acquire(number)
    time = 100.0
    limit.try_acquire("one more")
    assert len(limit._left) == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/login"),
        ("GET", "/"),
        ("GET", "/nowhere"),
        ("GET", "/static/x/y"),
        ("GET", "/api/project"),
        ("GET", "/api/nowhere"),
        ("POST", "/api/login"),
        ("PUT", "/login"),
        ("GET", "/join/%00"),
        ("GET", "/ml/health"),
    ],
)
def test_every_answer_is_strict_also_where_it_refuses(app: FastAPI, method: str, path: str) -> None:
    answer = Visit(app).client.request(method, path)
    assert {name: answer.headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert "cache-control" in answer.headers
    assert "server" not in answer.headers


def test_the_policy_allows_no_script_but_our_own_files() -> None:
    policy = dict(part.split(" ", 1) for part in SECURITY_HEADERS["Content-Security-Policy"].split("; "))
    assert (policy["default-src"], policy["script-src"], policy["frame-ancestors"]) == ("'none'", "'self'", "'none'")


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "192.168.0.7:8420"])
def test_on_its_own_machine_the_app_answers_to_no_other_name(app: FastAPI, host: str) -> None:
    answer = Visit(app).client.get("/login", headers={"Host": host})
    assert (answer.status_code, "accepts only requests to localhost" in answer.text) == (400, True)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8420", "[::1]:8420", "LOCALHOST:1"])
def test_its_own_names_are_welcome(app: FastAPI, host: str) -> None:
    assert Visit(app).client.get("/login", headers={"Host": host}).status_code == 200


def test_with_accounts_any_host_name_is_accepted(project: Project) -> None:
    answer = Visit(create_app(project)).client.get("/login", headers={"Host": "labels.example"})
    assert answer.status_code == 200


def test_the_printed_link_lets_the_owner_in_once(project: Project) -> None:
    login_link = LoginLink()
    app = create_app(project, login_link)
    first, second = Visit(app), Visit(app)
    assert first.get("/", token="wrong").headers["location"] == "/"
    assert first.get("/api/project").status_code == 401
    answer = first.get("/", token=login_link.token)
    cookie = answer.headers["set-cookie"].lower()
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert first.get("/api/project").json()["me"] == {"number": 1, "name": "me", "role": "owner"}
    second.get("/", token=login_link.token)
    assert second.get("/api/project").status_code == 401
    assert first.get("/", token=login_link.token).status_code == 303  # opened again, it does no harm
    assert first.get("/").status_code == 200


def test_with_accounts_there_is_no_login_link(project: Project) -> None:
    app = create_app(project)
    visit = Visit(app)
    assert visit.get("/", token=LoginLink().token).headers["location"] == "/login"


def test_too_frequent_requests_get_429(project: Project) -> None:
    app = create_app(project, LoginLink(), requests_a_minute=5)
    visit, other = Visit(app), signed_in(app, me(project))
    statuses = [visit.get("/login").status_code for _ in range(7)]
    assert statuses == [200] * 5 + [429] * 2
    assert other.get("/api/project").status_code == 200


def test_oversized_body_is_refused_before_reading(owner: Visit) -> None:
    answer = owner.client.post("/api/annotations", content=b"x" * 1_000_001, headers={"X-CSRF-Token": owner.csrf_token})
    assert (answer.status_code, answer.json()["error"]) == (413, "The request is too large; the limit is 1 MB.")

    def unannounced() -> Iterator[bytes]:
        for _ in range(200):
            yield b"x" * 10_000

    sent = {"X-CSRF-Token": owner.csrf_token, "Content-Type": "application/json"}
    assert owner.client.post("/api/annotations", content=unannounced(), headers=sent).status_code == 413


def test_multipart_header_does_not_raise_the_size_limit(stranger: Visit) -> None:
    disguise = {"Content-Type": "multipart/form-data; boundary=x"}
    for path in ("/api/login", "/ml/webhook"):
        assert stranger.client.post(path, content=b"x" * 1_000_001, headers=disguise).status_code == 413


@pytest.mark.parametrize("host", ["localhost/static", "localhost?", "localhost#"])
def test_unknown_host_does_not_bypass_the_middleware(app: FastAPI, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr("hybridal.app.web.middleware._check", lambda request, _: seen.append(request.scope["path"]))
    Visit(app).client.get("/api/project", headers={"Host": host})
    assert seen == ["/api/project"]


def test_an_internal_error_shows_nothing_of_the_server(owner: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr("hybridal.app.web.routes.labelling_routes.lease_texts", fail)
    answer = owner.get("/api/next")
    assert (answer.status_code, answer.json()) == (
        500,
        {"error": "The server had an error; nothing was changed."},
    )
    assert "content-security-policy" in answer.headers


def test_a_database_that_is_away_is_not_the_users_fault(
    app: FastAPI, owner: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OperationalError("SELECT 1", {}, Exception("/secret/path gone"))

    monkeypatch.setattr("hybridal.app.web.routes.labelling_routes.lease_texts", fail)
    answer = owner.get("/api/next")
    assert answer.status_code == 503
    assert "secret" not in answer.text
    monkeypatch.setattr("hybridal.app.web.middleware.find_session", fail)
    app.state.sessions.clear()
    assert owner.get("/api/next").status_code == 503


def test_two_projects_on_one_machine_do_not_sign_each_other_out(tmp_path: Path) -> None:
    visits = []
    jar = None
    for name in ("p", "q"):
        project = create(tmp_path / name)
        visit = signed_in(local(project), me(project))
        if jar is not None:
            visit.client.cookies.update(jar)
            jar.update(visit.client.cookies)
            visits[0].client.cookies.update(visit.client.cookies)
        jar = visit.client.cookies
        visits.append(visit)
    assert [visit.get("/api/project").status_code for visit in visits] == [200, 200]
