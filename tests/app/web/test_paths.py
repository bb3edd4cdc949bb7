from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import Request

from hybridal.app.project import Project
from hybridal.app.web.auth import LoginLink
from hybridal.app.web.paths import link, path_of
from hybridal.app.web.web_app import create_app

from ..made_up import me
from .visits import Visit, signed_in


@pytest.mark.parametrize(
    ("root", "path", "inside", "address"),
    [("", "/api/x", "/api/x", "/login"), ("/p/a b", "/p/a b/api/x", "/api/x", "/p/a%20b/login")],
)
def test_routes_know_paths_and_browsers_addresses(root: str, path: str, inside: str, address: str) -> None:
    request = Request({"type": "http", "path": path, "root_path": root, "headers": []})
    assert (path_of(request), link(request, "/login")) == (inside, address)


def test_an_app_behind_a_prefix_works_there_and_leads_nowhere_else(project: Project) -> None:
    app = create_app(project, LoginLink())
    stranger = Visit(app, "/p/toys")
    assert stranger.get("/p/toys/").headers["location"] == "/p/toys/login"
    assert stranger.get("/p/toys/api/project").status_code == 401
    assert stranger.get("/p/toys/no").status_code == 404
    visit = signed_in(app, me(project), prefix="/p/toys")
    page = visit.get("/p/toys/export").text
    assert 'data-root="/p/toys"' in page
    sheets = [part.split('"')[0] for part in page.split('href="')[1:]]
    assert {part for part in sheets if not part.startswith(("/p/toys/", "#"))} == {""}
    assert {visit.get(part).status_code for part in sheets if "/static/" in part} == {200}
    assert visit.post("/p/toys/api/invitations", {"role": "annotator"}).json()["path"].startswith("/p/toys/join/")
    assert Path(visit.get("/p/toys/", token="no").headers["location"]) == Path("/p/toys")
