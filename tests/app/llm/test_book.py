from pathlib import Path

import pytest
from sqlalchemy import delete, select

from hybridal.app.db.schema import Answer, LlmAnswer, Person, Queued
from hybridal.app.llm import book
from hybridal.app.llm.answers import Said
from hybridal.app.llm.asking import Asked
from hybridal.app.llm.routing import in_overlap
from hybridal.app.project import Project

from ..made_up import check_books
from ..postgres import while_waiting
from .projects import guess, llm_of, made, person, queue, recorded, says, text, verdicts

SURE, UNSURE = Said("bug", 0.95, "It crashes."), Said("bug", 0.4)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return made(tmp_path)


def test_a_sure_answer_becomes_a_label_of_the_llm(project: Project) -> None:
    with project.sessions.begin() as session:
        assert recorded(session, llm_of(session), "t0", SURE) == "accepted"
        assert verdicts(session) == {"t0": ("bug", "llm")}
        given = session.execute(select(Person.name, Person.kind, Answer.comment).join(Answer)).one()
        assert tuple(given) == ("(small)", "llm", "It crashes.")


def test_an_unsure_unusable_or_contradicted_answer_is_kept_but_no_label(project: Project) -> None:
    with project.sessions.begin() as session:
        llm = llm_of(session)
        guess(session, "t2", "idea", 0.9)
        ways = [recorded(session, llm, id, said) for id, said in (("t0", UNSURE), ("t1", None), ("t2", SURE))]
        assert ways == ["unsure", "unusable", "contradicted"]
        assert verdicts(session) == {}
        assert book.outcomes(session) == {"asked": 3, "unusable": 1, "labels": 0}
        assert book.spent(session) == 30


def test_the_same_answer_twice_counts_once(project: Project) -> None:
    with project.sessions.begin() as session:
        llm = llm_of(session)
        recorded(session, llm, "t0", SURE)
        recorded(session, llm, "t0", SURE)
        assert len(session.scalars(select(Answer)).all()) == len(session.scalars(select(LlmAnswer)).all()) == 1


def test_the_same_words_in_two_texts_are_paid_for_once_and_answer_both(tmp_path: Path) -> None:
    project = made(tmp_path, ["same", "same", "other"])
    with project.sessions.begin() as session:
        llm = llm_of(session)
        assert book.known(session, llm, "same") is None
        recorded(session, llm, "t0", SURE)
        kept = book.known(session, llm, "same")
        assert kept == Asked(SURE, 0)
        assert book.known(session, llm_of(session, model="large"), "same") is None
        book.record(session, llm, text(session, "t1"), kept)
        assert set(verdicts(session)) == {"t0", "t1"}
        assert book.spent(session) == 10


def test_whoever_was_faster_keeps_the_verdict(project: Project) -> None:
    with project.sessions.begin() as session:
        says(session, "me", "t0", "idea")
        recorded(session, llm_of(session), "t0", SURE)
        assert verdicts(session) == {"t0": ("idea", "people")}


def test_what_the_llm_did_not_settle_goes_to_people_the_hardest_first(project: Project) -> None:
    with project.sessions.begin() as session:
        llm = llm_of(session)
        session.add(Queued(text_row=text(session, "t9").row, rank=0, round=1))
        for id, said in (("t0", UNSURE), ("t1", None), ("t2", SURE), ("t3", Said("idea", 0.1))):
            recorded(session, llm, id, said)
        assert book.hand_over(session, llm) == 3
        assert queue(session) == ["t1", "t3", "t0", "t9"]
        assert book.hand_over(session, llm) == 0
        session.execute(delete(Queued))  # as the trainer does when it has a new model
        says(session, "me", "t1", "bug")
        book.hand_over(session, llm)
        assert queue(session) == ["t3", "t0"]


def test_texts_for_the_test_go_to_several_people_whatever_the_llm_says(tmp_path: Path, db: str | None) -> None:
    project = made(tmp_path, db=db)
    with project.sessions.begin() as session:
        person(session, "you")
        llm = llm_of(session, routing={"overlap": 0.3})
        shared = [f"t{at}" for at in range(20) if in_overlap(llm.rule, f"t{at}")]
        for at in range(20):
            recorded(session, llm, f"t{at}", Said("bug", 0.95 if at % 2 else 0.5))
        book.hand_over(session, llm)
        assert 0 < len(shared) < 20
        assert not set(verdicts(session)) & set(shared)
        assert queue(session)[: len(shared)] == shared
        assert {text(session, id).wanted for id in shared} == {2}
        assert all(text(session, id).open for id in shared)
        says(session, "me", shared[0], "bug")
        assert text(session, shared[0]).open
        check_books(session)


def test_labels_that_the_model_comes_to_contradict_are_taken_back(tmp_path: Path, db: str | None) -> None:
    project = made(tmp_path, db=db)
    with project.sessions.begin() as session:
        llm = llm_of(session)
        for id in ("t0", "t1", "t2", "t3"):
            recorded(session, llm, id, SURE)
        guess(session, "t0", "idea", 0.85)
        guess(session, "t1", "idea", 0.5)
        guess(session, "t2", "bug", 0.99)
        guess(session, "t3", "idea", 0.99)
        says(session, "me", "t3", "bug")
        assert book.take_back(session, llm) == 1
        assert set(verdicts(session)) == {"t1", "t2", "t3"}
        assert book.take_back(session, llm) == 0
        book.hand_over(session, llm)
        assert queue(session) == ["t0"]
        check_books(session)


def test_the_keys_of_an_llm_have_a_colon_and_so_are_no_pages(project: Project) -> None:
    with project.sessions.begin() as session:
        llm = llm_of(session)
        recorded(session, llm, "t0", SURE)
        guess(session, "t0", "idea", 0.99)
        book.take_back(session, llm)
        keys = session.scalars(select(Answer.key)).all()
    assert len(keys) == 2
    assert all(":" in key for key in keys)


@pytest.mark.postgres
def test_who_answers_a_text_and_a_taking_back_do_not_wait_for_each_other(tmp_path: Path, empty_postgres: str) -> None:
    project = made(tmp_path, db=empty_postgres)
    with project.sessions.begin() as session:
        llm = llm_of(session)
        for id in ("t0", "t1", "t2"):
            recorded(session, llm, id, SURE)
            guess(session, id, "idea", 0.99)

    def take_back() -> bool:
        with project.sessions.begin() as session:
            return book.take_back(session, llm) == 3

    while_waiting(project, "t1", take_back)
    with project.reads() as session:
        check_books(session)
