from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import func, select

from hybridal.app.app_errors import ConflictError, MissingError
from hybridal.app.db.schema import Annotation, Consensus, Lease, Person, Vote
from hybridal.app.labelling.annotations import annotate, undo
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.queue import lease_texts
from hybridal.app.project import Project
from hybridal.app.project_settings import read
from hybridal.errors import UserError

from ..made_up import check_books, consensus, make, me, people


def say(project: Project, person: Person, id: str, name: str, key: str, **more: bool) -> int:
    with project.sessions.begin() as session:
        annotate(session, person, id, "label", class_name=name, key=key, **more)  # type: ignore[arg-type]
        return session.scalars(select(Annotation.number).where(Annotation.key == key)).one()


def test_an_answer_makes_a_verdict_and_ends_the_lease(project: Project) -> None:
    with project.sessions.begin() as session:
        [text] = lease_texts(session, me(project), 1, read(session)).texts
    say(project, me(project), text.id, "a", "1")
    assert consensus(project) == {text.id: ("a", "people")}
    with project.reads() as session:
        assert session.scalar(select(func.count()).select_from(Lease)) == 0


def test_annotation_key_counts_once_whatever_the_second_request_contains(project: Project) -> None:
    first = say(project, me(project), "t1", "a", "1")
    assert say(project, me(project), "t1", "b", "1") == first
    assert consensus(project) == {"t1": ("a", "people")}


def test_a_key_is_of_one_person_and_one_text(project: Project) -> None:
    [other] = people(project, 1)
    say(project, me(project), "t1", "a", "1")
    for person, id in ((other, "t1"), (me(project), "t2")):
        with pytest.raises(ConflictError, match="The key '1' was already used"):
            say(project, person, id, "a", "1")
    with project.sessions.begin() as session:
        undo(session, me(project), "2")
    with pytest.raises(ConflictError):
        say(project, me(project), "t1", "a", "2")
    with pytest.raises(ConflictError), project.sessions.begin() as session:
        undo(session, me(project), "1")


def test_a_second_thought_replaces_the_first_and_both_are_kept(project: Project) -> None:
    say(project, me(project), "t1", "a", "1")
    second = say(project, me(project), "t1", "b", "2")
    with project.reads() as session:
        assert session.scalar(select(func.count()).select_from(Annotation)) == 2
        assert session.scalars(select(Vote.annotation_number)).all() == [second]
        assert session.scalars(select(Consensus.annotation_number)).all() == [second]
    assert consensus(project) == {"t1": ("b", "people")}


def test_repeated_annotation_is_no_label_change(project: Project) -> None:
    first = say(project, me(project), "t1", "a", "1")
    say(project, me(project), "t1", "a", "2")
    with project.reads() as session:
        assert session.scalars(select(Consensus.annotation_number)).all() == [first]


def test_undoing_a_second_thought_restores_the_first(project: Project) -> None:
    say(project, me(project), "t1", "a", "1")
    say(project, me(project), "t2", "a", "2")
    say(project, me(project), "t1", "b", "3")
    undone = []
    for key in ("4", "5", "6", "7"):
        with project.sessions.begin() as session:
            text = undo(session, me(project), key)
            undone.append((text.id if text else None, session.scalar(select(func.count()).select_from(Consensus))))
    assert undone == [("t1", 2), ("t2", 1), ("t1", 0), (None, 0)]


def test_an_answer_is_undone_by_its_key_while_it_stands(project: Project) -> None:
    one, other = people(project, 2)
    say(project, one, "t1", "a", "1")
    say(project, one, "t2", "a", "2")
    say(project, other, "t3", "a", "3")
    undone = []
    for key, undoes in (("4", "1"), ("5", "1"), ("6", "3"), ("7", "unknown")):
        with project.sessions.begin() as session:
            text = undo(session, one, key, undoes)
            undone.append(text.id if text else None)
    assert undone == ["t1", None, None, None]
    assert consensus(project).keys() == {"t2", "t3"}


def test_disputed_text_waits_for_a_decision(project: Project) -> None:
    one, other = people(project, 2)
    say(project, one, "t1", "a", "1")
    say(project, other, "t1", "b", "2")
    assert consensus(project) == {}
    with project.reads() as session:
        assert counts(session)["disagreements"] == 1
    say(project, me(project), "t1", "c", "3", decides=True)
    assert consensus(project) == {"t1": ("c", "adjudicated")}


def test_invalid_annotation_is_refused_and_not_written(project: Project) -> None:
    with project.sessions.begin() as session:
        for id, name in (("nowhere", "a"), ("t1", "nothing")):
            with pytest.raises(MissingError):
                annotate(session, me(project), id, "label", class_name=name, key="1")
        with pytest.raises(UserError, match="A label needs a class"):
            annotate(session, me(project), "t1", "label", key="1")
        with pytest.raises(UserError, match="a skip must not have one"):
            annotate(session, me(project), "t1", "skip", class_name="a", key="1")
        assert session.scalar(select(func.count()).select_from(Annotation)) == 0


def test_answers_that_arrive_at_the_same_moment_are_all_counted_once(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", texts=5, db=db)
    everybody = people(project, 4)
    # Everybody labels every text, and each answer is sent twice at the same time.
    work = [(person, f"t{i}", i) for i in range(5) for person in everybody for _ in range(2)]

    def send(one: tuple[Person, str, int]) -> int:
        person, id, i = one
        return say(project, person, id, "ab"[(i + person.number) % 2] if i else "a", f"{person.number}-{id}")

    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(send, work))
    with project.reads() as session:
        assert session.scalar(select(func.count()).select_from(Annotation)) == 20
        check_books(session)
    assert len(set(numbers)) == 20
    assert consensus(project) == {"t0": ("a", "people")}
    project.close()


def test_a_key_pressed_twice_takes_two_answers_back(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    for i in range(8):
        say(project, me(project), f"t{i}", "a", f"{i}")

    def back(key: int) -> str:
        with project.sessions.begin() as session:
            text = undo(session, me(project), f"u{key}")
            assert text is not None
            return text.id

    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(back, [0, 0, 1, 1, 2, 2, 3, 3]))
    assert {*taken} == {"t4", "t5", "t6", "t7"}
    assert sorted(consensus(project)) == ["t0", "t1", "t2", "t3"]
    project.close()
