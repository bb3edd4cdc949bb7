from pathlib import Path

import pytest

from hybridal.app.insight.opinions import disagreements, opinions
from hybridal.app.labelling.answer import answer
from hybridal.app.people.accounts import machine
from hybridal.app.project import Project

from ..made_up import make, me, people


@pytest.fixture
def project(tmp_path: Path, db: str | None) -> Project:
    made = make(tmp_path / "p", 6, db=db)
    ann, bo = people(made, 2)
    with made.sessions.begin() as session:
        for at, (one, other) in enumerate([("a", "a"), ("a", "b"), ("c", "b")]):
            answer(session, ann, f"t{at}", "label", class_name=one, key=f"ann{at}", comment="why")
            answer(session, bo, f"t{at}", "label", class_name=other, key=f"bo{at}")
        answer(session, me(made), "t2", "label", class_name="c", key="me2", decides=True)
        answer(session, ann, "t3", "label", class_name="a", key="ann3")
        answer(session, bo, "t3", "skip", key="bo3")
        answer(session, machine(session, "(small)", "llm"), "t3", "label", class_name="b", key="llm3")
    return made


def test_only_what_several_people_said_of_themselves_counts(project: Project) -> None:
    with project.reads() as session:
        found = opinions(session)
    assert found == [
        *[("t0", f"annotator {at}", "a") for at in range(2)],
        *[("t1", "annotator 0", "a"), ("t1", "annotator 1", "b")],
        *[("t2", "annotator 0", "c"), ("t2", "annotator 1", "b")],
    ]


def test_disagreements_are_those_that_nobody_decided(project: Project) -> None:
    with project.reads() as session:
        [(text, said)] = disagreements(session)
    assert text.id == "t1"
    assert said == [("annotator 0", "a", "why"), ("annotator 1", "b", "")]
