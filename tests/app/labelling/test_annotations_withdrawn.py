from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select

from hybridal.app.db.schema import Annotation, Consensus, Person, Text, Vote
from hybridal.app.labelling.annotations import annotate, withdraw
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.text_source import Source
from hybridal.app.project import Project

from ..made_up import check_books


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.create(
        Source("demo", [("a", "one", None), ("b", "two", None)], ("x", "y")), tmp_path / "demo.hybridal"
    )


def test_undo_restores_the_state_before_the_annotation(project: Project) -> None:
    with project.sessions.begin() as session:
        me, text = session.scalars(select(Person)).one(), session.scalars(select(Text).where(Text.id == "a")).one()
        before = counts(session)
        annotate(session, me, "a", "label", class_name="x", key="1")
        annotate(session, me, "a", "label", class_name="y", key="2")
        assert session.scalar(select(Text.open).where(Text.id == "a")) is False
        withdraw(session, me, text.row, "3")
        withdraw(session, me, text.row, "3")
        assert counts(session) == before
        check_books(session)
        assert session.scalars(select(Vote)).all() == []
        assert session.scalars(select(Consensus)).all() == []
        assert [given.action for given in session.scalars(select(Annotation))] == ["label", "label", "withdraw"]
        assert session.scalar(select(Text.open).where(Text.id == "a")) is True
        annotate(session, me, "a", "label", class_name="x", key="4")
        withdraw(session, me, text.row, "3")
        assert session.get(Consensus, text.row) is not None


def test_undo_without_annotations_does_nothing(project: Project) -> None:
    with project.sessions.begin() as session:
        me = session.scalars(select(Person)).one()
        withdraw(session, me, 1, "1")
        assert session.scalars(select(Annotation)).all() == []
