from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from hybridal.app.consent import allow_sending, may_send
from hybridal.app.project import Project

from .made_up import make

URL = "https://example.org/secret-path"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    monkeypatch.setattr("hybridal.app.consent.user_state_path", lambda *_, **__: folder)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = make(tmp_path / "p")
    made.asks_before_sending = True
    return made


def test_an_address_is_allowed_once_for_a_project_wherever_its_folder_is(
    project: Project, state: Path, tmp_path: Path
) -> None:
    assert not may_send(project, URL)
    allow_sending(project, URL)
    assert may_send(project, URL)
    assert not may_send(project, URL + "/v2")
    project.close()
    shutil.move(project.folder, tmp_path / "moved")
    again = Project.open(tmp_path / "moved")
    again.asks_before_sending = True
    assert may_send(again, URL)
    other = make(tmp_path / "other")
    other.asks_before_sending, other.key = True, "other"
    assert not may_send(other, URL)


def test_the_memory_is_private_and_names_no_address(project: Project, state: Path) -> None:
    allow_sending(project, URL)
    paths = [*state.rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o700, 0o600}
    assert not any("example" in str(path) or "secret-path" in path.name for path in paths)


def test_an_unwritable_folder_makes_the_next_start_ask_again(project: Project, state: Path) -> None:
    state.write_text("a file where the folder should be")
    allow_sending(project, URL)
    assert not may_send(project, URL)


def test_a_server_does_not_ask(project: Project, state: Path) -> None:
    project.asks_before_sending = False
    assert may_send(project, URL)
    allow_sending(project, URL)
    assert not state.exists()
