from __future__ import annotations

from pathlib import Path

import pytest

from hybridal.app.db.schema import Text
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.removal import delete_texts, restore_texts
from hybridal.app.labelling.requirements import apply_rule_to_some, unsettled
from hybridal.app.labelling.text_search import search
from hybridal.app.project import Project

from ..made_up import check_books, consensus, make, me, merge_classes, people
from ..postgres import while_waiting


def differing(folder: Path, db: str | None) -> Project:
    """Of seven texts two people out of three say `a`, and the third says `b`."""
    project = make(folder, db=db)
    given = zip((me(project), *people(project, 2)), "aab", strict=True)
    with project.sessions.begin() as session:
        for person, name in given:
            for at in range(7):
                annotate(session, person, f"t{at}", "label", class_name=name, key=f"{person.number}-{at}")
    return project


def settle(project: Project, n: int) -> bool:
    with project.sessions.begin() as session:
        more = apply_rule_to_some(session, n)
    with project.reads() as session:
        check_books(session)
    return more


def test_labelling_goes_on_while_another_rule_settles_texts_and_all_counts(tmp_path: Path, db: str | None) -> None:
    project = differing(tmp_path / "p", db)
    project.decide({"on_disagreement": "majority"})
    assert consensus(project) == {}
    assert settle(project, 2)
    assert consensus(project) == {"t0": ("a", "people"), "t1": ("a", "people")}
    with project.sessions.begin() as session:  # one that is settled, and three that are not yet
        annotate(session, me(project), "t1", "label", class_name="c", key="1")
        annotate(session, me(project), "t4", "label", class_name="b", key="4")
        annotate(session, me(project), "t5", "label", class_name="c", key="5")
        delete_texts(session, [session.query(Text.row).filter_by(id="t6").scalar()], at=1.0)
        check_books(session)
    assert consensus(project) == {"t0": ("a", "people"), "t4": ("b", "people")}
    project.close()

    project = Project.open(tmp_path / "p", db=db)  # after a restart
    while settle(project, 2):
        pass
    with project.reads() as session:
        assert not unsettled(session)
    assert {id: name for id, (name, _) in consensus(project).items()} == {"t0": "a", "t2": "a", "t3": "a", "t4": "b"}
    project.close()


def test_a_rule_that_changes_back_in_the_middle_settles_all_texts_again(tmp_path: Path, db: str | None) -> None:
    project = differing(tmp_path / "p", db)
    project.decide({"on_disagreement": "majority"})
    settle(project, 3)
    project.decide({"on_disagreement": "adjudication"})
    assert {*consensus(project)} == {"t0", "t1", "t2"}
    with project.sessions.begin() as session:
        found = search(session, state="labelled")
        assert {text.id for text in found.texts} == {"t0", "t1", "t2"}
        rows = [text.row for text in found.texts if text.id == "t0"]
        delete_texts(session, rows, at=1.0)
        restore_texts(session, rows)  # which is settled by the rule of now
    with project.reads() as session:
        check_books(session)
    assert {*consensus(project)} == {"t1", "t2"}
    while settle(project, 3):
        pass
    assert consensus(project) == {}
    project.close()


def test_classes_are_merged_while_another_rule_settles_texts(tmp_path: Path, db: str | None) -> None:
    project = differing(tmp_path / "p", db)
    project.decide({"on_disagreement": "majority"})
    settle(project, 2)
    with project.sessions.begin() as session:
        merge_classes(session, 1, 2)
        check_books(session)
    assert consensus(project) == {f"t{at}": ("b", "people") for at in range(7)}
    assert not settle(project, 2)  # no disagreement is left
    project.close()


@pytest.mark.postgres
def test_rule_change_waits_for_running_annotations(tmp_path: Path, empty_postgres: str) -> None:
    project = make(tmp_path / "p", classes=("a", "bug"), db=empty_postgres)
    with project.sessions.begin() as session:
        session.query(Text).update({"required_votes": 3})
    for person in people(project, 2):
        with project.sessions.begin() as session:
            annotate(session, person, "t1", "label", class_name="a", key=person.name)

    def change() -> bool:
        project.decide({"on_disagreement": "majority"})
        return True

    while_waiting(project, "t1", change)
    while settle(project, 10):
        pass
    assert consensus(project) == {"t1": ("a", "people")}
    project.close()
