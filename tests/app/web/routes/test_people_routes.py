from __future__ import annotations

import asyncio
import time

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient
from sqlalchemy import select

from hybridal.app.db.schema import Person
from hybridal.app.people import add_person, change_password, hash_password
from hybridal.app.project import Project
from hybridal.app.web.web_app import create_app

from ...made_up import me
from ..visits import HOME, Visit, signed_in, with_token


@pytest.fixture
def app(project: Project) -> FastAPI:
    return create_app(project)


@pytest.fixture
def owner(app: FastAPI, project: Project) -> Visit:
    return signed_in(app, me(project))


def joined(app: FastAPI, owner: Visit, name: str, role: str = "annotator") -> Visit:
    path = owner.post("/api/invitations", {"role": role}).json()["path"]
    visit = Visit(app)
    assert visit.get(path).status_code == 200
    sent = {"token": path.removeprefix("/join/"), "name": name, "password": "correct horse"}
    assert visit.post("/api/join", sent).json() == {"ok": True}
    return visit.arrive()


def test_person_is_invited_joins_leaves_and_returns(app: FastAPI, owner: Visit) -> None:
    visit = joined(app, owner, "Ada", "reviewer")
    assert visit.get("/api/project").json()["me"] == {"number": 2, "name": "Ada", "role": "reviewer"}
    [invitation] = owner.get("/api/invitations").json()["items"]
    assert (invitation["used_by"], invitation["role"]) == ("Ada", "reviewer")
    assert visit.post("/api/logout").json() == {"ok": True}
    assert visit.get("/api/project").status_code == 401
    assert visit.post("/api/login", {"name": "Ada", "password": "wrong horse"}).status_code == 401
    assert visit.post("/api/login", {"name": "Ada ", "password": "correct horse"}).status_code == 200
    visit.arrive()


def test_a_link_is_good_for_one_person(app: FastAPI, owner: Visit) -> None:
    path = owner.post("/api/invitations", {"role": "annotator"}).json()["path"]
    sent = {"token": path.removeprefix("/join/"), "name": "Ada", "password": "correct horse"}
    assert Visit(app).post("/api/join", {**sent, "password": "short"}).status_code == 400
    assert Visit(app).post("/api/join", {**sent, "name": "me"}).status_code == 409
    assert Visit(app).post("/api/join", sent).status_code == 200
    assert Visit(app).post("/api/join", {**sent, "name": "Bob"}).status_code == 403


def test_unusable_invitation_link_shows_a_message(app: FastAPI, owner: Visit) -> None:
    used = owner.post("/api/invitations", {"role": "annotator"}).json()
    sent = {"token": used["path"].removeprefix("/join/"), "name": "Ada", "password": "correct horse"}
    Visit(app).post("/api/join", sent)
    withdrawn = owner.post("/api/invitations", {"role": "annotator"}).json()
    owner.post(f"/api/invitations/{withdrawn['number']}/revoke")
    for path in (used["path"], withdrawn["path"], "/join/never-made"):
        page = Visit(app).client.get(path, headers={"Accept": "text/html"})
        assert (page.status_code, "ask for a new one" in page.text) == (403, True)
        assert "Password" not in page.text


def test_a_withdrawn_link_is_worthless(app: FastAPI, owner: Visit) -> None:
    made = owner.post("/api/invitations", {"role": "annotator"}).json()
    assert owner.post(f"/api/invitations/{made['number']}/revoke").json() == {"ok": True}
    sent = {"token": made["path"].removeprefix("/join/"), "name": "Ada", "password": "correct horse"}
    assert Visit(app).post("/api/join", sent).status_code == 403
    assert owner.post("/api/invitations/99/revoke").status_code == 404


def test_sign_in_hides_whether_a_name_exists_and_limits_attempts(app: FastAPI, owner: Visit) -> None:
    joined(app, owner, "Ada")
    visit = Visit(app)
    names = ("Ada", "me", "Bob", "(file)")
    told = {visit.post("/api/login", {"name": name, "password": "wrong horse"}).text for name in names}
    assert told == {'{"error":"The name or the password is wrong."}'}
    statuses = [visit.post("/api/login", {"name": "ADA", "password": "x"}).status_code for _ in range(12)]
    assert statuses == [401] * 9 + [429] * 3
    assert visit.post("/api/login", {"name": "Bob", "password": "x"}).status_code == 401


def test_a_name_is_the_same_in_any_case_when_signing_in(app: FastAPI, owner: Visit) -> None:
    joined(app, owner, "Petra Müller")
    for name in ("petra müller", "PETRA  MÜLLER "):
        assert Visit(app).post("/api/login", {"name": name, "password": "correct horse"}).status_code == 200
        assert Visit(app).post("/api/login", {"name": name, "password": "wrong horse"}).status_code == 401
    spellings = (f"petra{' ' * n}müller" for n in range(1, 13))
    statuses = [Visit(app).post("/api/login", {"name": name, "password": "x"}).status_code for name in spellings]
    assert statuses[-1] == 429, "spellings of one name share its attempts"


def test_removed_person_is_signed_out_at_once(app: FastAPI, owner: Visit) -> None:
    visit = joined(app, owner, "Ada")
    visit.get("/api/next")
    [_, ada] = owner.get("/api/people").json()["items"]
    assert owner.patch("/api/people", {"number": ada["number"], "active": False}).json() == {"ok": True}
    assert visit.get("/api/project").status_code == 401
    assert visit.post("/api/login", {"name": "Ada", "password": "correct horse"}).status_code == 401
    assert len(owner.get("/api/next", n=100).json()["items"]) == 20  # what she held is free again


def test_cookies_are_secure_under_https(app: FastAPI, owner: Visit) -> None:
    joined(app, owner, "Ada")
    visit = Visit(app)
    visit.client.base_url = visit.client.base_url.copy_with(scheme="https")
    answer = visit.post("/api/login", {"name": "Ada", "password": "correct horse"})
    assert "Secure" in answer.headers["set-cookie"]


async def _knock(app: FastAPI, times: int) -> list[int]:
    async with AsyncClient(transport=ASGITransport(app), base_url=HOME) as client:
        sent = [client.post("/api/login", json={"name": f"n{n}", "password": "wrong horse"}) for n in range(times)]
        return [answer.status_code for answer in await asyncio.gather(*sent)]


def test_password_hashing_is_limited_for_unauthenticated_clients(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[int] = []
    most = 0

    def fits(*_: object) -> bool:
        nonlocal most
        inside.append(1)
        most = max(most, len(inside))
        time.sleep(0.005)
        inside.pop()
        return False

    monkeypatch.setattr("hybridal.app.web.routes.people_routes.verify_password", fits)
    assert asyncio.run(_knock(app, 20)) == [401] * 20
    assert most <= 2


def test_people_are_listed_with_their_annotation_counts(owner: Visit, annotator: Visit) -> None:
    for number, name in enumerate(["a", None, "b"]):
        action = "label" if name else "skip"
        annotator.post("/api/annotations", {"key": str(number), "text": f"t{number}", "action": action, "class": name})
    assert owner.get("/api/people").json()["items"] == [
        {"number": 1, "name": "me", "kind": "person", "role": "owner", "active": True, "labels": 0, "skips": 0},
        {
            "number": 2,
            "name": "annotator 0",
            "kind": "person",
            "role": "annotator",
            "active": True,
            "labels": 2,
            "skips": 1,
        },
    ]


def test_a_role_changes_at_once(owner: Visit, annotator: Visit) -> None:
    assert annotator.get("/api/review").status_code == 403
    assert owner.patch("/api/people", {"number": 2, "role": "reviewer", "name": "Ada"}).status_code == 200
    assert annotator.get("/api/review").status_code == 200
    assert annotator.get("/api/project").json()["me"] == {"number": 2, "name": "Ada", "role": "reviewer"}
    assert owner.patch("/api/people", {"number": 1, "role": "annotator"}).status_code == 409
    assert owner.patch("/api/people", {"number": 9, "role": "annotator"}).status_code == 404


def test_a_password_is_changed_with_the_old_one_and_only_an_owner_resets_others(
    owner: Visit, annotator: Visit, project: Project
) -> None:
    with project.sessions.begin() as session:
        ann = session.scalars(select(Person).where(Person.role == "annotator")).first()
        assert ann is not None
        change_password(session, ann.number, hash_password("correct horse"))
    visit = signed_in(annotator.client.app, ann)  # type: ignore[arg-type]
    program, others = (with_token(owner.client.app, one, "annotator") for one in (ann, me(project)))  # type: ignore[arg-type]
    wrong = {"old": "nonsense", "new": "battery staple"}
    assert visit.post("/api/password", wrong).json() == {"error": "The old password is wrong."}
    assert visit.post("/api/password", {"old": "correct horse", "new": "short"}).status_code == 400
    assert visit.post("/api/password", {"number": 1, "new": "battery staple"}).status_code == 403
    assert visit.post("/api/password", {"old": "correct horse", "new": "battery staple"}).json() == {"ok": True}
    assert visit.get("/api/project").status_code == 200
    assert program.get("/api/project").status_code == 200
    assert owner.post("/api/password", {"number": ann.number, "new": "fresh start"}).json() == {"ok": True}
    assert visit.get("/api/project").status_code == 401
    assert program.get("/api/project").status_code == 401
    assert others.get("/api/project").status_code == 200
    assert owner.post("/api/password", {"number": 999, "new": "fresh start"}).status_code == 404


def test_creators_password_is_not_reset_by_others(owner: Visit, project: Project) -> None:
    with project.sessions.begin() as session:
        other = add_person(session, "Olga", "owner")
    visit = signed_in(owner.client.app, other)  # type: ignore[arg-type]
    assert visit.post("/api/password", {"number": me(project).number, "new": "taken over"}).status_code == 403
    assert owner.post("/api/password", {"number": other.number, "new": "fresh start"}).json() == {"ok": True}
