from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from hybridal.app.people import add_person, invite
from hybridal.app.project import Project
from hybridal.app.web import pages as module
from hybridal.app.web.pages import PAGES, REFERENCE, static_version

from .visits import Visit, signed_in

FOLDER = Path(module.__file__).parent
PATHS = [page.path for page in PAGES]
ALL = [*PATHS, REFERENCE.path, "/login", "/join"]


Client = Callable[..., TestClient]


@pytest.fixture
def client(app: FastAPI, project: Project) -> Client:
    """Opens the browser of a person with this role, with or without a password; None: not signed in."""

    def open_browser(role: str | None = "owner", password: bool = True) -> TestClient:
        if role is None:
            return Visit(app).client
        with project.sessions.begin() as session:
            made = add_person(session, f"<b>Ada</b> {next(_numbers)}", role, "its hash" if password else None)
        return signed_in(app, made).client

    return open_browser


_numbers = count()


@pytest.fixture
def link(project: Project) -> str:
    """The path of an invitation."""
    with project.sessions.begin() as session:
        return f"/join/{invite(session, 'annotator')[1]}"


@pytest.mark.parametrize("path", [*PATHS, REFERENCE.path])
def test_pages_redirect_unauthenticated_clients_to_the_sign_in_page(client: Client, path: str) -> None:
    answer = client(role=None).get(path)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")


@pytest.mark.parametrize("role", ["annotator", "reviewer", "owner"])
def test_a_role_opens_exactly_the_pages_of_its_menu(client: Client, role: str) -> None:
    user = client(role)
    opened = [path for path in PATHS if user.get(path).status_code == 200]
    menu = re.search(r"<nav.*?</nav>", user.get("/").text, re.S)
    assert menu is not None
    assert re.findall(r'href="([^"]*)"', menu[0]) == opened
    assert {user.get(path).status_code for path in PATHS} <= {200, 403}
    assert len(opened) == {"annotator": 5, "reviewer": 8, "owner": 10}[role]


@pytest.mark.parametrize("path", ALL)
def test_pages_hold_no_script_or_style_of_their_own_and_only_files_that_are_there(
    client: Client, link: str, path: str
) -> None:
    path = link if path == "/join" else path
    user = client()
    html = user.get(path).text
    assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=|javascript:", html)
    assert "<b>Ada" not in html
    files = re.findall(r'(?:src|href)="(/static/[^"]*)"', html)
    assert len(files) > 5
    assert {user.get(file).status_code for file in files} == {200}


@pytest.mark.parametrize("path", ALL)
def test_no_control_can_be_used_before_a_script_serves_it(client: Client, link: str, path: str) -> None:
    path = link if path == "/join" else path
    html = client().get(path).text
    html = re.sub(r'<form method="dialog".*?</form>', "", html, flags=re.S)
    for button in re.findall(r"<button[^>]*>", html):
        assert " disabled" in button or " popovertarget=" in button, button


def test_a_token_that_is_markup_stays_text(client: Client) -> None:
    assert "<i>" not in client(role=None).get("/join/%22%3E%3Ci%3E").text


def test_the_sign_in_page_asks_for_a_password_only_if_people_have_passwords(client: Client) -> None:
    assert "Password" not in client(role=None).get("/login").text
    client("annotator")
    assert "Password" in client(role=None).get("/login").text


def test_sign_out_is_offered_only_to_people_who_can_sign_in_again(client: Client) -> None:
    assert "Sign out" in client().get("/").text
    assert "Sign out" not in client(password=False).get("/").text


def test_static_files_are_kept_for_ever_under_the_name_of_their_version(client: Client) -> None:
    answer = client(role=None).get(f"/static/{static_version()}/js/api.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "immutable" in answer.headers["cache-control"]
    assert client().get("/").headers["cache-control"] == "no-store"


def test_the_service_worker_is_checked_for_updates_and_names_no_address_of_data(client: Client) -> None:
    answer = client(role=None).get("/service-worker.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["cache-control"] == "no-cache"
    assert "/api/" not in answer.text


@pytest.mark.parametrize("role", ["annotator", "owner"])
def test_a_page_names_the_person_and_project_as_the_api_does(client: Client, role: str) -> None:
    user = client(role)
    about = user.get("/api/project").json()
    assert f'data-owner="{about["id"]}/{about["me"]["number"]}"' in user.get("/").text


@pytest.mark.parametrize("name", ["js/none.js", "%2e%2e/pages.py", "..%2f..%2fpages.py", "js", ""])
def test_nothing_but_static_files_is_served(client: Client, name: str) -> None:
    assert client().get(f"/static/{static_version()}/{name}").status_code == 404
    assert client().get("/static/0123456789ab/js/api.js").status_code == 404


def test_scripts_never_write_markup_and_import_only_each_other() -> None:
    scripts = sorted((FOLDER / "static").rglob("*.js"))
    assert len(scripts) > 30
    for script in scripts:
        source = script.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", source), (
            script
        )
        assert "://" not in source.replace("http://www.w3.org/2000/svg", ""), script
        for name in re.findall(r'from "([^"]*)"', source):
            assert (script.parent / name).is_file(), (script, name)
