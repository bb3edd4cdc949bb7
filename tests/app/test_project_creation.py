from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, select

from hybridal.app.db.schema import CodebookVersion, Invitation
from hybridal.app.labelling import classes
from hybridal.app.labelling.classes import ClassEntry
from hybridal.app.labelling.codebook import newest_version
from hybridal.app.labelling.text_source import Source
from hybridal.app.people import check_invitation
from hybridal.app.project import Project
from hybridal.app.project_creation import ProjectPlan, create_project
from hybridal.errors import UserError

SOURCE = Source("Mails", [("1", "Hello", "ham"), ("2", "WIN", None)], ("ham",))


def test_a_project_begins_with_texts_classes_and_invitations(tmp_path: Path, db: str | None) -> None:
    seen: list[tuple[int, int]] = []
    plan = ProjectPlan(
        SOURCE, [ClassEntry("spam", "unwanted", "x"), ClassEntry(" ham ")], ["annotator", "reviewer"], {"budget": 99}
    )
    tokens = create_project(plan, tmp_path / "p", db, lambda done, total: seen.append((done, total)))
    assert seen == [(2, 2)]
    project = Project.open(tmp_path / "p", db)
    with project.reads() as session:
        assert [(one.name, one.description, one.key) for one in classes.active(session)] == [
            ("spam", "unwanted", "x"),
            ("ham", "", ""),
        ]
        assert [check_invitation(session, token).role for token in tokens] == ["annotator", "reviewer"]
        assert len(session.scalars(select(Invitation)).all()) == 2
    assert (project.setting("name"), project.setting("budget")) == ("Mails", 99)
    project.close()


@pytest.mark.postgres
def test_a_project_that_cannot_be_created_leaves_no_tables(tmp_path: Path, empty_postgres: str) -> None:
    engine = create_engine(empty_postgres)
    before = inspect(engine).get_schema_names()
    twice = Source("s", [("1", "a", None), ("1", "b", None)])
    for plan in (ProjectPlan(twice), ProjectPlan(SOURCE, [ClassEntry("")]), ProjectPlan(SOURCE, settings={"batch": 0})):
        with pytest.raises(UserError):
            create_project(plan, tmp_path / "p", empty_postgres)
    assert inspect(engine).get_schema_names() == before
    assert inspect(engine).get_table_names("public") == []
    engine.dispose()


def test_classes_with_descriptions_are_the_first_version_of_the_codebook(tmp_path: Path) -> None:
    plan = ProjectPlan(SOURCE, [ClassEntry("spam", "unwanted", "x"), ClassEntry("ham", "wanted")])
    create_project(plan, tmp_path / "p")
    project = Project.open(tmp_path / "p")
    with project.reads() as session:
        assert newest_version(session) == 1
        [version] = session.scalars(select(CodebookVersion)).all()
        assert version.operation == "add"
        assert [one["after"]["description"] for one in version.changes] == ["unwanted", "wanted"]
    project.close()
