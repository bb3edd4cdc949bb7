from __future__ import annotations

import csv
import io
import json
from typing import Any

from fastapi import FastAPI

from hybridal.app.project import Project

from ...made_up import people
from ..visits import Visit


def log(visit: Visit, **query: Any) -> list[tuple[str | None, str, str, dict[str, Any]]]:
    found = visit.get("/api/audit", **query).json()["items"]
    return [(one["person"], one["area"], one["action"], one["details"]) for one in found]


def test_settings_classes_people_and_exports_are_logged(owner: Visit, reviewer: Visit, project: Project) -> None:
    owner.patch("/api/settings", {"budget": 1000, "guidelines": "x" * 500})
    owner.patch("/api/settings", {"budget": 1000})  # changes nothing
    owner.post("/api/classes", {"name": "d"})
    ada = people(project, 1)[0]
    owner.patch("/api/people", {"number": ada.number, "role": "reviewer"})
    owner.post("/api/password", {"number": ada.number, "new": "correct horse"})
    invitation = owner.post("/api/invitations", {"role": "annotator"}).json()
    owner.post(f"/api/invitations/{invitation['number']}/revoke")
    token = owner.post("/api/tokens", {"name": "nightly", "role": "annotator"}).json()
    owner.post(f"/api/tokens/{token['number']}/revoke")
    assert reviewer.get("/api/export/labels.csv").status_code == 200
    name = ada.name
    assert log(owner) == [
        ("reviewer 0", "exports", "export", {"file": "labels.csv", "codebook": 2}),
        ("me", "people", "revoke_token", {"number": token["number"]}),
        ("me", "people", "token", {"name": "nightly", "role": "annotator"}),
        ("me", "people", "revoke", {"role": "annotator"}),
        ("me", "people", "invite", {"role": "annotator"}),
        ("me", "people", "password", {"person": name}),
        ("me", "people", "change", {"person": name, "role": ["annotator", "reviewer"]}),
        ("me", "classes", "add", {"version": 2, "classes": "d"}),
        ("me", "settings", "change", {"budget": [800, 1000], "guidelines": ["", "x" * 200 + " …"]}),
        (None, "classes", "add", {"version": 1, "classes": "a, b, c"}),
    ]
    assert [area for _, area, *_ in log(owner, area="settings")] == ["settings"]
    assert owner.get("/api/audit", area="other").status_code == 422
    assert invitation["path"].rsplit("/")[-1] not in owner.get("/api/audit").text
    assert token["token"] not in owner.get("/api/audit").text


def test_a_refused_change_is_not_logged(owner: Visit) -> None:
    before = log(owner)
    assert owner.patch("/api/settings", {"budget": -5}).status_code == 400
    assert owner.patch("/api/classes/1", {"name": "b"}).status_code == 409
    assert log(owner) == before


def test_the_log_is_paged_and_downloaded_whole(owner: Visit) -> None:
    for at in range(1, 121):
        owner.patch("/api/settings", {"budget": 1000 + at})
    first = owner.get("/api/audit").json()
    assert (len(first["items"]), first["next"]) == (100, first["items"][-1]["number"])
    second = owner.get("/api/audit", before=first["next"]).json()
    assert (len(second["items"]), second["next"]) == (21, None)
    numbers = [one["number"] for one in (*first["items"], *second["items"])]
    assert numbers == sorted(numbers, reverse=True)
    rows = [*csv.DictReader(io.StringIO(owner.get("/api/audit.csv").text.removeprefix("\ufeff")))]
    assert len(rows) == 121
    assert json.loads(rows[0]["details"]) == {"budget": [1119, 1120]}
    assert (rows[0]["person"], rows[0]["area"], rows[0]["action"]) == ("me", "settings", "change")


def test_only_owners_read_the_log(app: FastAPI, annotator: Visit, reviewer: Visit) -> None:
    for visit in (annotator, reviewer):
        assert visit.get("/api/audit").status_code == 403
        assert visit.get("/api/audit.csv").status_code == 403
        assert visit.get("/log").status_code == 403
