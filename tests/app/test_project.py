from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from sqlalchemy import delete, func, make_url, select, text

from hybridal.app.db.connect import exclusive
from hybridal.app.db.schema import Setting, Text
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.text_source import Source
from hybridal.app.project import DB_VARIABLE, Project, has_schema
from hybridal.errors import UserError

from .made_up import consensus, create, me


def test_a_project_can_be_moved_and_opened_again(tmp_path: Path) -> None:
    project = create(tmp_path / "here", budget=99)
    with project.sessions.begin() as session:
        annotate(session, me(project), "t1", "label", class_name="a", key="1")
    project.close()
    shutil.move(tmp_path / "here", tmp_path / "there")
    opened = Project.open(tmp_path / "there")
    assert (consensus(opened), opened.setting("budget")) == ({"t1": ("a", "people")}, 99)
    opened.close()


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"it has no project\.json"):
        Project.open(tmp_path)


def test_a_project_whose_creation_was_interrupted_is_begun_again(tmp_path: Path) -> None:
    project = create(tmp_path / "p")
    with project.sessions.begin() as session:
        session.execute(delete(Setting))  # all of a creation is one transaction: none of it is there
    project.close()
    assert not Project.exists(tmp_path / "p")
    with pytest.raises(UserError, match="is incomplete"):
        Project.open(tmp_path / "p")


def test_bad_settings_leave_no_project_behind(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        create(tmp_path / "p", batch=0)
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
    create(tmp_path / "p", db=empty_postgres).close()
    for _ in range(2):
        with pytest.raises(UserError, match="holds another project"):
            create(tmp_path / "q", db=empty_postgres)
        with pytest.raises(UserError, match="holds another project"):
            Project.exists(tmp_path / "q")


@pytest.mark.postgres
def test_projects_share_a_database_and_nothing_in_it(
    tmp_path: Path, empty_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(tmp_path / "alone", texts=1, db=empty_postgres).close()  # in the schema that all others would look at too
    both = [create(tmp_path / name, texts=n, db=empty_postgres, in_schema=True) for name, n in (("p", 3), ("q", 5))]
    assert {has_schema(tmp_path / name): name for name in ("alone", "q")} == {False: "alone", True: "q"}
    for project, texts in zip(both, (3, 5), strict=True):
        with project.reads() as session:
            assert session.scalar(select(func.count()).select_from(Text)) == texts
            index = text("SELECT count(*) FROM pg_tables WHERE tablename = 'text_search' AND schemaname = :schema")
            assert session.scalar(index, {"schema": f"hybridal_{project.key}"}) == 1
        project.close()
    # Opened again by the address in its folder, or by one with a password; also where it was moved.
    Project.open(tmp_path / "p").close()
    (tmp_path / "q").rename(tmp_path / "r")
    monkeypatch.setenv("HYBRIDAL_DB", empty_postgres)
    moved = Project.open(tmp_path / "r")
    # Writers of different projects do not wait for each other.
    other = Project.open(tmp_path / "p")
    with moved.sessions.begin() as session, other.sessions.begin() as parallel:
        exclusive(session)
        parallel.execute(text("SET LOCAL statement_timeout = 5000"))
        exclusive(parallel)
    moved.close()
    other.close()
    (tmp_path / "r" / "project.json").write_text('{"key": "x", "db": "postgresql://h/x", "schema": "x; DROP"}')
    with pytest.raises(UserError, match="not the name of a schema"):
        Project.open(tmp_path / "r")


@pytest.mark.postgres
def test_a_password_is_not_written_down(tmp_path: Path, empty_postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = make_url(empty_postgres).set(password="top-secret").render_as_string(hide_password=False)
    project = create(tmp_path / "p", db=secret)
    written = json.loads((tmp_path / "p" / "project.json").read_text())
    assert written == {"name": "made up", "key": project.key, "db": empty_postgres}
    assert project.environment == {DB_VARIABLE: secret}
    project.close()
    monkeypatch.setenv(DB_VARIABLE, secret)
    again = Project.open(tmp_path / "p")
    assert again.engine.url.password == "top-secret"
    again.close()


@pytest.mark.postgres
def test_database_address_is_saved_however_it_was_given(
    tmp_path: Path, empty_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DB_VARIABLE, f"{empty_postgres}?password=top-secret")
    create(tmp_path / "p").close()
    monkeypatch.delenv(DB_VARIABLE)
    assert "secret" not in (tmp_path / "p" / "project.json").read_text()
    again = Project.open(tmp_path / "p")  # not an empty SQLite file, as if nothing had been labelled
    assert again.engine.dialect.name == "postgresql"
    again.close()


def test_a_database_of_another_project_is_not_taken_for_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = create(tmp_path / "p"), create(tmp_path / "q")
    monkeypatch.setenv(DB_VARIABLE, other.environment[DB_VARIABLE])
    for reach in (Project.open, Project.exists):
        with pytest.raises(UserError, match=r"holds another project.*HYBRIDAL_DB"):
            reach(tmp_path / "p")
    one.close()
    other.close()


@pytest.mark.parametrize("damaged", ["{", "[]", '{"db": 5}', "\x00"])
def test_damaged_project_file_is_reported(tmp_path: Path, damaged: str) -> None:
    (tmp_path / "project.json").write_text(damaged)
    with pytest.raises(UserError, match=r"project\.json is damaged"):
        Project.open(tmp_path)


def test_damaged_database_is_reported(tmp_path: Path) -> None:
    create(tmp_path / "p").close()
    (tmp_path / "p" / "labels.db").write_bytes(b"not a database" * 500)
    with pytest.raises(UserError, match=r"cannot be used .*not a database"):
        Project.open(tmp_path / "p")


def test_unknown_database_option_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot be used .*nosuch"):
        create(tmp_path / "p", db="postgresql+psycopg://al@127.0.0.1:1/x?nosuch=1")


def test_unreachable_database_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be used"):
        create(tmp_path / "p", db="postgresql+psycopg://al@127.0.0.1:1/x")


def test_two_projects_have_different_keys(tmp_path: Path) -> None:
    one, other = create(tmp_path / "p"), create(tmp_path / "q")
    assert one.key != other.key
    one.close()
    other.close()


def modes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.glob("labels.db*"))}


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_other_users_of_the_machine_cannot_read_a_project(tmp_path: Path) -> None:
    folder = tmp_path / "mails"
    made = Project.create(Source("mails", []), folder)
    made.settings()
    private = {"mails": 0o700, "labels.db": 0o600, "labels.db-wal": 0o600, "labels.db-shm": 0o600}
    assert private.items() <= modes(folder).items()
    assert (folder / "project.json").stat().st_mode & 0o777 == 0o600
    made.close()
    for path in (folder, folder / "labels.db"):  # as earlier versions left them
        path.chmod(0o755)
    Project.open(folder).close()
    assert (modes(folder)["mails"], modes(folder)["labels.db"]) == (0o700, 0o600)


def test_a_project_from_elsewhere_cannot_open_another_sqlite_file(tmp_path: Path) -> None:
    create(tmp_path / "p").close()
    mine = tmp_path / "mine.db"
    mine.touch()
    about = json.loads((tmp_path / "p" / "project.json").read_text())
    (tmp_path / "p" / "project.json").write_text(json.dumps({**about, "db": f"sqlite:///{mine}"}))
    with pytest.raises(UserError, match="damaged"):
        Project.open(tmp_path / "p")
    assert mine.read_bytes() == b""
    with pytest.raises(UserError, match="a SQLite file is always in the project's folder"):
        create(tmp_path / "q", db=f"sqlite:///{mine}")
