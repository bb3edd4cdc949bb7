from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sqlalchemy import select

from hybridal.app.db.schema import Answer, Class, Guess, Text
from hybridal.app.errors import ConflictError
from hybridal.app.labelling import classes
from hybridal.app.labelling.answer import answer
from hybridal.app.labelling.merge import merge
from hybridal.app.labelling.tally import counts

from ..made_up import check_books, make, people, verdicts


def test_everything_of_one_class_is_of_the_other(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db)
    one, other = people(project, 2)
    with project.sessions.begin() as session:
        number = {found.name: found.number for found in classes.active(session)}
        said = [(one, "t1", "a"), (one, "t2", "b"), (one, "t3", "a"), (other, "t3", "b")]
        for key, (person, id, name) in enumerate(said):
            answer(session, person, id, "label", class_name=name, key=str(key))
        row = session.scalars(select(Text.row)).first()
        session.add(Guess(text_row=row, class_number=number["a"], probability=0.9, entropy=0.1, round=1))
        assert counts(session)["disagreements"] == 1
    with project.sessions.begin() as session:
        merge(session, number["a"], number["b"])
    # Who differed only in the two names agrees now.
    assert verdicts(project) == {"t1": ("b", "people"), "t2": ("b", "people"), "t3": ("b", "people")}
    with project.sessions.begin() as session:
        check_books(session)
        assert session.scalars(select(Guess.class_number)).all() == [number["b"]]
        # What was said is kept; a page that does not know yet may go on saying it.
        assert number["a"] in session.scalars(select(Answer.class_number)).all()
        answer(session, one, "t4", "label", class_name="a", key="late")
        merge(session, number["b"], number["c"])
        assert classes.resolve(session, number["a"]) == number["c"]
    assert {name for name, _ in verdicts(project).values()} == {"c"}
    project.close()


@pytest.mark.postgres
def test_an_answer_that_is_under_way_is_of_the_class_that_is_left(tmp_path: Path, empty_postgres: str) -> None:
    project = make(tmp_path / "p", db=empty_postgres)
    one, other = people(project, 2)
    with project.sessions.begin() as session:
        number = {found.name: found.number for found in classes.active(session)}
        answer(session, one, "t1", "label", class_name="a", key="1")
    merged = threading.Event()

    def merge_them() -> None:
        with project.sessions.begin() as session:
            merge(session, number["a"], number["b"])
        merged.set()

    merging = threading.Thread(target=merge_them)
    with project.sessions.begin() as session:
        answer(session, other, "t1", "label", class_name="b", key="2")  # disagrees, as long as there are two classes
        answer(session, other, "t2", "label", class_name="a", key="3")
        merging.start()
        assert not merged.wait(0.2)
    merging.join()
    assert verdicts(project) == {"t1": ("b", "people"), "t2": ("b", "people")}
    with project.sessions.begin() as session:
        assert classes.find(session, "a").number == number["b"]
        check_books(session)
    project.close()


@pytest.mark.postgres
def test_an_answer_that_waited_for_a_merge_hears_of_it(tmp_path: Path, empty_postgres: str) -> None:
    project = make(tmp_path / "p", db=empty_postgres)
    person = people(project, 1)[0]

    def answer_it() -> None:
        with project.sessions.begin() as session:
            seen = classes.find(session, "a")
            answer(session, person, "t1", "label", class_name=seen.name, key="1")

    answering = threading.Thread(target=answer_it)
    with project.sessions.begin() as session:
        a, b, _ = classes.active(session)
        merge(session, a.number, b.number)
        answering.start()
        answering.join(0.2)
        assert answering.is_alive()
    answering.join()
    assert verdicts(project) == {"t1": ("b", "people")}
    project.close()


def test_only_two_different_classes_in_use_are_merged(tmp_path: Path) -> None:
    project = make(tmp_path / "p")
    with project.sessions.begin() as session:
        a, b, c = session.scalars(select(Class.number).order_by(Class.number)).all()
        merge(session, a, b)
        for gone, left in ((b, b), (a, c), (c, a)):
            with pytest.raises(ConflictError):
                merge(session, gone, left)
    project.close()
