from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from sqlalchemy import delete, make_url

from hybridal.app.db.schema import Setting
from hybridal.app.labelling.answer import answer
from hybridal.app.labelling.source import Source
from hybridal.app.project import DB_VARIABLE, Project
from hybridal.errors import UserError

from .made_up import make, me, verdicts


def test_a_project_can_be_moved_and_opened_again(tmp_path: Path) -> None:
    project = make(tmp_path / "here", budget=99)
    with project.sessions.begin() as session:
        answer(session, me(project), "t1", "label", class_name="a", key="1")
    project.close()
    shutil.move(tmp_path / "here", tmp_path / "there")
    opened = Project.open(tmp_path / "there")
    assert (verdicts(opened), opened.setting("budget")) == ({"t1": ("a", "people")}, 99)
    opened.close()


def test_what_is_no_project_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"it has no project\.json"):
        Project.open(tmp_path)


def test_a_project_whose_creation_was_interrupted_is_begun_again(tmp_path: Path) -> None:
    project = make(tmp_path / "p")
    with project.sessions.begin() as session:
        session.execute(delete(Setting))  # all of a creation is one transaction: none of it is there
    project.close()
    assert not Project.exists(tmp_path / "p")
    with pytest.raises(UserError, match="was never filled"):
        Project.open(tmp_path / "p")


def test_bad_settings_leave_no_project_behind(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        make(tmp_path / "p", batch=0)
    assert not (tmp_path / "p").exists()


def test_a_failed_creation_can_be_repeated(tmp_path: Path, db: str | None) -> None:
    with pytest.raises(UserError):
        Project.create(Source("s", [("1", "a", None), ("1", "b", None)]), tmp_path / "p", db=db)
    assert not Project.exists(tmp_path / "p", db)
    project = Project.create(Source("s", [("1", "a", None)]), tmp_path / "p", db=db)
    assert Project.exists(tmp_path / "p", db)
    project.close()


@pytest.mark.postgres
def test_a_database_holds_one_project(tmp_path: Path, empty_postgres: str) -> None:
    make(tmp_path / "p", db=empty_postgres).close()
    with pytest.raises(UserError, match="holds the project 'made up' already"):
        make(tmp_path / "q", db=empty_postgres)


@pytest.mark.postgres
def test_a_password_is_not_written_down(tmp_path: Path, empty_postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = make_url(empty_postgres).set(password="top-secret").render_as_string(hide_password=False)
    project = make(tmp_path / "p", db=secret)
    written = json.loads((tmp_path / "p" / "project.json").read_text())
    assert written == {"name": "made up", "db": empty_postgres}
    assert project.environment == {DB_VARIABLE: secret}
    project.close()
    monkeypatch.setenv(DB_VARIABLE, secret)
    again = Project.open(tmp_path / "p")
    assert again.engine.url.password == "top-secret"
    again.close()


def test_a_database_that_is_away_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be reached"):
        make(tmp_path / "p", db="postgresql+psycopg://al@127.0.0.1:1/x")


def test_two_projects_have_different_keys(tmp_path: Path) -> None:
    one, other = make(tmp_path / "p"), make(tmp_path / "q")
    assert one.key != other.key
    one.close()
    other.close()
