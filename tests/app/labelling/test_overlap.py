from __future__ import annotations

from pathlib import Path

from sqlalchemy import func, select

from hybridal.app.db.schema import Text
from hybridal.app.labelling.answer import answer
from hybridal.app.project import Project

from ..made_up import make, me


def wanted(project: Project) -> dict[int, int]:
    with project.reads() as session:
        rows = session.execute(select(Text.wanted, func.count()).group_by(Text.wanted))
        return {number: texts for number, texts in rows}  # noqa: C416


def test_about_the_share_that_is_asked_for_wants_two_opinions(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=1000, overlap=0.2)
    assert 150 < wanted(project)[2] < 250
    project.decide({"overlap": 0.5})
    assert 430 < wanted(project)[2] < 570
    project.decide({"overlap": 0.0})
    assert wanted(project) == {1: 1000}
    project.close()


def test_what_is_answered_already_is_not_drawn_anew(project: Project) -> None:
    with project.sessions.begin() as session:
        answer(session, me(project), "t1", "label", class_name="a", key="1")
    project.decide({"overlap": 1.0})
    assert wanted(project) == {1: 1, 2: 19}
