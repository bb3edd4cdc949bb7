from __future__ import annotations

import json
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

from hybridal.app.labelling.text_source import Source
from hybridal.app.project import Project
from hybridal.app.project_admin import archive, archived_since, delete, restore, title_of
from hybridal.errors import UserError

from .made_up import create


def test_an_archived_project_keeps_its_title_and_everything_else(tmp_path: Path, db: str | None) -> None:
    create(tmp_path / "p", db=db).close()
    before = json.loads((tmp_path / "p" / "project.json").read_text())
    archive(tmp_path / "p", "Mails of 2024")
    assert len(archived_since(tmp_path / "p")) == len("2024-01-31")
    assert title_of(tmp_path / "p") == "Mails of 2024"
    assert (tmp_path / "p" / "project.json").stat().st_mode & 0o777 == 0o600
    restore(tmp_path / "p")
    assert archived_since(tmp_path / "p") == ""
    assert json.loads((tmp_path / "p" / "project.json").read_text()) == {**before, "name": "Mails of 2024"}
    Project.open(tmp_path / "p", db).close()


def test_what_is_no_project_is_not_archived(tmp_path: Path) -> None:
    (tmp_path / "torn").mkdir()
    with pytest.raises(UserError, match=r"torn has no project\.json; restore it from a backup\."):
        archive(tmp_path / "torn", "torn")
    (tmp_path / "torn" / "project.json").write_text("{")
    assert (archived_since(tmp_path / "torn"), title_of(tmp_path / "torn")) == ("", "torn")
    with pytest.raises(UserError, match="is damaged"):
        archive(tmp_path / "torn", "torn")


def test_nothing_is_left_of_a_deleted_project(tmp_path: Path, db: str | None) -> None:
    create(tmp_path / "p", db=db).close()
    delete(tmp_path / "p", db)
    assert [*tmp_path.iterdir()] == []
    if db is not None:
        assert left_in(db, "public") == []


def left_in(db: str, schema: str) -> list[str]:
    """Tables and functions of a schema."""
    engine = create_engine(db)
    with engine.connect() as connection:
        functions = "SELECT proname FROM pg_proc JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = :schema"
        found = [*inspect(connection).get_table_names(schema), *connection.scalars(text(functions), {"schema": schema})]
        assert schema == "public" or schema not in inspect(connection).get_schema_names()
    engine.dispose()
    return found


@pytest.mark.postgres
def test_deleting_a_schema_keeps_the_others(tmp_path: Path, empty_postgres: str) -> None:
    for name in ("one", "two"):
        Project.create(Source(name, [("1", "a", None)]), tmp_path / name, db=empty_postgres, in_schema=True).close()
    delete(tmp_path / "one", empty_postgres)
    left = Project.open(tmp_path / "two", empty_postgres)
    assert left.setting("name") == "two"
    left.close()
    # A folder from elsewhere that names the tables of another project deletes nothing.
    create(tmp_path / "foreign").close()
    about = json.loads((tmp_path / "two" / "project.json").read_text())
    (tmp_path / "foreign" / "project.json").write_text(json.dumps({**about, "key": "other"}))
    with pytest.raises(UserError, match="The database holds another project, so nothing was deleted"):
        delete(tmp_path / "foreign", empty_postgres)
    Project.open(tmp_path / "two", empty_postgres).close()
    delete(tmp_path / "two", empty_postgres)
    assert left_in(empty_postgres, about["schema"]) == []


@pytest.mark.postgres
def test_a_deletion_that_was_interrupted_is_repeated(
    tmp_path: Path, empty_postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Project.create(Source("s", [("1", "a", None)]), tmp_path / "p", db=empty_postgres, in_schema=True).close()

    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("hybridal.app.project_admin.remove_folder", full)
        with pytest.raises(UserError, match=r"'p' could not be deleted \(No space left on device\); try again\."):
            delete(tmp_path / "p", empty_postgres)
    delete(tmp_path / "p", empty_postgres)
    assert [*tmp_path.iterdir()] == []
