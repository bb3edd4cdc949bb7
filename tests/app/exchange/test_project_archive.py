from __future__ import annotations

import json
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, func, select

from hybridal.app.db.schema import AccessToken, Annotation, Base, Person, Setting, Text
from hybridal.app.exchange.archive_export import archive_parts
from hybridal.app.exchange.archive_reader import ProjectArchive
from hybridal.app.exchange.archive_tables import exported_tables
from hybridal.app.exchange.project_archive import (
    copy_without_labels,
    import_project,
)
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.classes import ClassEntry
from hybridal.app.labelling.comments import answer, begin_thread
from hybridal.app.labelling.text_source import Source
from hybridal.app.people import User, add_person
from hybridal.app.project import Project

from ..made_up import check_books, consensus, make, me, merge_classes, people


@pytest.fixture
def labelled(tmp_path: Path) -> Project:
    """A project with people, labels, a disagreement, a merged class and settings of its own."""
    project = make(tmp_path / "p", overlap=1.0, guidelines="**Read** me", backbone="tiny", budget=77)
    other = people(project, 1, "reviewer")[0]
    with project.sessions.begin() as session:
        classes.define(session, [ClassEntry("d", "described", "x")])
        for number, (who, id, name) in enumerate(
            [(me(project), "t1", "a"), (other, "t1", "b"), (me(project), "t2", "c"), (other, "t2", "c")]
        ):
            annotate(session, who, id, "label", class_name=name, comment="why", key=str(number))
        thread = begin_thread(session, User(other, "", ""), "t1", me(project).number, "why?", "c1")
        answer(session, User(me(project), "", ""), thread, "so", done=True, key="c2")
        merge_classes(session, 1, 3)
        session.get_one(Person, me(project).number).password = "a hash"
        session.get_one(Person, me(project).number).own_keys = {"s": "x"}
        session.add(AccessToken(digest="x", name="n", role="owner", person_number=me(project).number))
    return project


def exported(project: Project, path: Path) -> Path:
    path.write_bytes(b"".join(archive_parts(project)))
    return path


def tables(project: Project) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of all tables that an archive has."""
    with project.reads() as session:
        return {
            name: [tuple(row) for row in session.execute(select(table).order_by(*table.primary_key.columns))]
            for name, table in exported_tables().items()
        }


@pytest.fixture
def target(db: str | None) -> str | None:
    """The database that is imported into."""
    return db


def test_an_imported_project_has_all_rows_and_goes_on(labelled: Project, tmp_path: Path, target: str | None) -> None:
    path = exported(labelled, tmp_path / "whole.zip")
    import_project(path, tmp_path / "new", target, title="Again", encoders=["tiny", "auto"])
    project = Project.open(tmp_path / "new", target)
    before, after = tables(labelled), tables(project)
    settings = {name: dict(one.pop("settings")) for name, one in (("before", before), ("after", after))}
    before["people"] = [tuple(None if value == "a hash" else value for value in row) for row in before["people"]]
    assert after == before
    assert settings["after"] == {**settings["before"], "name": "Again", "key": project.key}
    assert project.key != labelled.key
    assert consensus(project) == {"t2": ("c", "people")}
    with project.sessions.begin() as session:
        check_books(session)
        assert session.scalar(select(func.count()).select_from(AccessToken)) == 0
        assert session.scalar(select(func.count()).select_from(Text).where(Text.folded.contains("text 7"))) == 1
        # New rows follow the imported ones.
        person = add_person(session, "later", "annotator")
        annotate(session, person, "t3", "label", class_name="d", key="later")
        assert classes.add(session, ["e"])[0].number == 5
        check_books(session)
    project.close()
    labelled.close()


def test_from_postgresql_to_sqlite(tmp_path: Path, empty_postgres: str) -> None:
    project = make(tmp_path / "p", db=empty_postgres, multi_label=True)
    with project.sessions.begin() as session:
        annotate(session, me(project), "t1", "label", class_names=["a", "b"], key="1")
        annotate(session, me(project), "t2", "label", class_names=[], key="2")
    path = exported(project, tmp_path / "whole.zip")
    import_project(path, tmp_path / "new", title="p", encoders=["auto"])
    with closing(Project.open(tmp_path / "new")) as copy:
        assert consensus(copy) == consensus(project)
        assert copy.setting("multi_label")
        assert {name: len(rows) for name, rows in tables(copy).items()} == {
            name: len(rows) for name, rows in tables(project).items()
        }
        with copy.reads() as session:
            check_books(session)
    project.close()


def test_no_column_with_a_secret_is_exported(labelled: Project, tmp_path: Path) -> None:
    path = exported(labelled, tmp_path / "whole.zip")
    secret = {"password", "token", "secret", "csrf_token"}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            content = archive.read(name).decode()
            assert "a hash" not in content
            assert labelled.key not in content
            if name != "project.json":
                assert not secret & {*json.loads(content.splitlines()[0])}
    assert Base.metadata.tables.keys() - exported_tables() >= {
        "login_sessions",
        "access_tokens",
        "invitations",
        "webhooks",
    }
    labelled.close()


def test_an_encoder_that_this_server_does_not_offer_is_replaced(tmp_path: Path) -> None:
    with closing(make(tmp_path / "p", backbone="/somewhere/model")) as project:
        path = exported(project, tmp_path / "whole.zip")
    for name, trusted, backbone in (("a", False, "auto"), ("b", True, "/somewhere/model")):
        import_project(path, tmp_path / name, title="p", encoders=["auto", "tiny"], trusted=trusted)
        with closing(Project.open(tmp_path / name)) as copy:
            assert copy.setting("backbone") == backbone


def test_a_project_that_records_no_encoder_keeps_that_of_its_time(tmp_path: Path) -> None:
    with closing(make(tmp_path / "p")) as project:
        with project.sessions.begin() as session:
            session.execute(delete(Setting).where(Setting.name == "backbone"))
        path = exported(project, tmp_path / "whole.zip")
    import_project(path, tmp_path / "new", title="p", encoders=["auto", "minilm"])
    with closing(Project.open(tmp_path / "new")) as copy:
        assert copy.setting("backbone") == "minilm"


def test_long_texts_that_are_almost_the_same_are_imported_too(tmp_path: Path) -> None:
    rows = [(str(n), f"{n} {'-' * 90_000}", None) for n in range(60)]
    with closing(Project.create(Source("long", rows), tmp_path / "p")) as project:
        path = exported(project, tmp_path / "whole.zip")
        import_project(path, tmp_path / "new", title="p", encoders=["auto"])
        with closing(Project.open(tmp_path / "new")) as copy:
            assert tables(copy)["texts"] == tables(project)["texts"]


def test_the_title_is_known_before_the_import(labelled: Project, tmp_path: Path) -> None:
    with closing(ProjectArchive(exported(labelled, tmp_path / "whole.zip"))) as archive:
        assert archive.name == "made up"
    labelled.close()


def test_a_copy_without_labels_has_texts_classes_and_settings(
    labelled: Project, tmp_path: Path, target: str | None
) -> None:
    copy_without_labels(labelled, tmp_path / "new", target, title="Again")
    with closing(Project.open(tmp_path / "new", target)) as copy:
        assert (copy.setting("budget"), copy.setting("guidelines"), copy.setting("name")) == (
            77,
            "**Read** me",
            "Again",
        )
        with copy.reads() as session:
            assert session.scalars(select(Text.id).order_by(Text.row)).all() == [f"t{n}" for n in range(20)]
            found = [(one.name, one.description, one.key) for one in classes.active(session)]
            assert found == [("b", "", ""), ("c", "", ""), ("d", "described", "x")]
            assert session.scalar(select(func.count()).select_from(Annotation)) == 0
            assert session.scalars(select(Person.name)).all() == ["me"]
            check_books(session)
    labelled.close()
