from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from sqlalchemy.exc import OperationalError

from hybridal.app.project import Project
from hybridal.app.web import doorman
from hybridal.app.web.app import create_app
from hybridal.app.web.entry import Entry

from ..made_up import make, me
from .visits import Visit, local, signed_in


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "192.168.0.7:8420"])
def test_on_its_own_machine_the_app_answers_to_no_other_name(app: FastAPI, host: str) -> None:
    answer = Visit(app).client.get("/login", headers={"Host": host})
    assert (answer.status_code, "localhost alone" in answer.text) == (400, True)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8420", "[::1]:8420", "LOCALHOST:1"])
def test_its_own_names_are_welcome(app: FastAPI, host: str) -> None:
    assert Visit(app).client.get("/login", headers={"Host": host}).status_code == 200


def test_where_everybody_signs_in_any_name_will_do(project: Project) -> None:
    answer = Visit(create_app(project)).client.get("/login", headers={"Host": "labels.example"})
    assert answer.status_code == 200


def test_the_printed_link_lets_the_owner_in_once(project: Project) -> None:
    entry = Entry()
    app = create_app(project, entry)
    first, second = Visit(app), Visit(app)
    assert first.get("/", token="wrong").headers["location"] == "/"
    assert first.get("/api/project").status_code == 401
    answer = first.get("/", token=entry.token)
    cookie = answer.headers["set-cookie"].lower()
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert first.get("/api/project").json()["me"] == {"name": "me", "role": "owner"}
    second.get("/", token=entry.token)
    assert second.get("/api/project").status_code == 401
    assert first.get("/", token=entry.token).status_code == 303  # opened again, it does no harm
    assert first.get("/").status_code == 200


def test_where_everybody_signs_in_no_link_does(project: Project) -> None:
    app = create_app(project)
    visit = Visit(app)
    assert visit.get("/", token=Entry().token).headers["location"] == "/login"


def test_who_asks_too_often_waits(project: Project) -> None:
    app = create_app(project, Entry(), requests_a_minute=5)
    visit, other = Visit(app), signed_in(app, me(project))
    statuses = [visit.get("/login").status_code for _ in range(7)]
    assert statuses == [200] * 5 + [429] * 2
    assert other.get("/api/project").status_code == 200


def test_what_is_too_large_is_refused_before_it_is_read(owner: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = owner.client.post("/api/answers", content=b"x" * 1_000_001, headers={"X-CSRF": owner.csrf})
    assert (answer.status_code, answer.json()["error"]) == (413, doorman._TOO_LARGE)

    def unannounced() -> Iterator[bytes]:
        for _ in range(200):
            yield b"x" * 10_000

    sent = {"X-CSRF": owner.csrf, "Content-Type": "application/json"}
    assert owner.client.post("/api/answers", content=unannounced(), headers=sent).status_code == 413
    monkeypatch.setattr(doorman, "LARGEST_FILE", 10_000)
    file = {"file": ("x.csv", b"text\n" + b"x\n" * 10_000)}
    assert owner.post("/api/texts", files=file).status_code == 413


def test_nobody_can_disguise_a_flood_as_a_file(stranger: Visit) -> None:
    disguise = {"Content-Type": "multipart/form-data; boundary=x"}
    for path in ("/api/login", "/ml/webhook"):
        assert stranger.client.post(path, content=b"x" * 1_000_001, headers=disguise).status_code == 413


@pytest.mark.parametrize("host", ["localhost/static", "localhost?", "localhost#"])
def test_a_strange_host_leads_nobody_past_the_doorman(app: FastAPI, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(doorman, "_check", lambda request, _: seen.append(request.scope["path"]))
    Visit(app).client.get("/api/project", headers={"Host": host})
    assert seen == ["/api/project"]


def test_a_fault_of_ours_tells_nothing_of_the_server(owner: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr("hybridal.app.web.routes.labelling.take", fail)
    answer = owner.get("/api/next")
    assert (answer.status_code, answer.json()) == (
        500,
        {"error": "Something went wrong on our side; nothing was changed."},
    )
    assert "content-security-policy" in answer.headers


def test_a_database_that_is_away_is_no_fault_of_the_visitor(
    app: FastAPI, owner: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OperationalError("SELECT 1", {}, Exception("/secret/path gone"))

    monkeypatch.setattr("hybridal.app.web.routes.labelling.take", fail)
    answer = owner.get("/api/next")
    assert answer.status_code == 503
    assert "secret" not in answer.text
    monkeypatch.setattr("hybridal.app.web.doorman.logins.find", fail)
    app.state.guests.forget()
    assert owner.get("/api/next").status_code == 503


def test_two_projects_on_one_machine_do_not_sign_each_other_out(tmp_path: Path) -> None:
    visits = []
    jar = None
    for name in ("p", "q"):
        project = make(tmp_path / name)
        visit = signed_in(local(project), me(project))
        if jar is not None:
            visit.client.cookies.update(jar)
            jar.update(visit.client.cookies)
            visits[0].client.cookies.update(visit.client.cookies)
        jar = visit.client.cookies
        visits.append(visit)
    assert [visit.get("/api/project").status_code for visit in visits] == [200, 200]
