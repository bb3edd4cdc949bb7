from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import delete, select

from hybridal.annotators.llm.ask_label import LlmResult
from hybridal.annotators.llm.prompt import LlmLabel
from hybridal.annotators.team import in_overlap
from hybridal.app.db.schema import Annotation, LlmAnswer, Person, QueuedText
from hybridal.app.llm.records import (
    cached_result,
    llm_counts,
    queue_for_people,
    record_result,
    spent_tokens,
    withdraw_contradicted,
)
from hybridal.app.project import Project

from ..made_up import check_books
from ..postgres import while_waiting
from .projects import consensus, llm_of, made, person, prediction, queue, recorded, says, text

SURE, UNSURE = LlmLabel("bug", 0.95, "It crashes."), LlmLabel("bug", 0.4)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return made(tmp_path)


def test_a_sure_answer_becomes_a_label_of_the_llm(project: Project) -> None:
    with project.sessions.begin() as session:
        assert recorded(session, llm_of(session), "t0", SURE) == "accepted"
        assert consensus(session) == {"t0": ("bug", "llm")}
        given = session.execute(select(Person.name, Person.kind, Annotation.comment).join(Annotation)).one()
        assert tuple(given) == ("(small)", "llm", "It crashes.")


def test_an_unsure_unusable_or_contradicted_answer_is_kept_but_no_label(project: Project) -> None:
    with project.sessions.begin() as session:
        llm = llm_of(session)
        prediction(session, "t2", "idea", 0.9)
        ways = [recorded(session, llm, id, label) for id, label in (("t0", UNSURE), ("t1", None), ("t2", SURE))]
        assert ways == ["unsure", "unusable", "contradicted"]
        assert consensus(session) == {}
        assert llm_counts(session) == {"asked": 3, "unusable": 1, "labels": 0}
        assert spent_tokens(session) == 30


def test_repeated_answer_counts_once(project: Project) -> None:
    with project.sessions.begin() as session:
        llm = llm_of(session)
        recorded(session, llm, "t0", SURE)
        recorded(session, llm, "t0", SURE)
        assert len(session.scalars(select(Annotation)).all()) == len(session.scalars(select(LlmAnswer)).all()) == 1


def test_the_same_words_in_two_texts_are_paid_for_once_and_answer_both(tmp_path: Path) -> None:
    project = made(tmp_path, ["same", "same", "other"])
    with project.sessions.begin() as session:
        llm = llm_of(session)
        assert cached_result(session, llm, "same") is None
        recorded(session, llm, "t0", SURE)
        kept = cached_result(session, llm, "same")
        assert kept == LlmResult(SURE, 0)
        assert cached_result(session, llm_of(session, model="large"), "same") is None
        record_result(session, llm, text(session, "t1"), kept)
        assert set(consensus(session)) == {"t0", "t1"}
        assert spent_tokens(session) == 10


def test_answer_of_a_person_is_kept_over_a_later_llm_answer(project: Project) -> None:
    with project.sessions.begin() as session:
        says(session, "me", "t0", "idea")
        recorded(session, llm_of(session), "t0", SURE)
        assert consensus(session) == {"t0": ("idea", "people")}


def test_texts_that_the_llm_did_not_label_go_to_people_hardest_first(project: Project) -> None:
    with project.sessions.begin() as session:
        llm = llm_of(session)
        session.add(QueuedText(text_row=text(session, "t9").row, rank=0, round=1))
        for id, label in (("t0", UNSURE), ("t1", None), ("t2", SURE), ("t3", LlmLabel("idea", 0.1))):
            recorded(session, llm, id, label)
        assert queue_for_people(session, llm) == 3
        assert queue(session) == ["t1", "t3", "t0", "t9"]
        assert queue_for_people(session, llm) == 0
        session.execute(delete(QueuedText))  # as the trainer does when it has a new model
        says(session, "me", "t1", "bug")
        queue_for_people(session, llm)
        assert queue(session) == ["t3", "t0"]


def test_texts_for_the_test_go_to_several_people_whatever_the_llm_says(tmp_path: Path, db: str | None) -> None:
    project = made(tmp_path, db=db)
    with project.sessions.begin() as session:
        person(session, "you")
        llm = llm_of(session, routing={"overlap": 0.3})
        shared = [f"t{at}" for at in range(20) if in_overlap(f"t{at}", llm.rule.overlap)]
        for at in range(20):
            recorded(session, llm, f"t{at}", LlmLabel("bug", 0.95 if at % 2 else 0.5))
        queue_for_people(session, llm)
        assert 0 < len(shared) < 20
        assert not set(consensus(session)) & set(shared)
        assert queue(session)[: len(shared)] == shared
        assert {text(session, id).required_votes for id in shared} == {2}
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
        prediction(session, "t0", "idea", 0.85)
        prediction(session, "t1", "idea", 0.5)
        prediction(session, "t2", "bug", 0.99)
        prediction(session, "t3", "idea", 0.99)
        says(session, "me", "t3", "bug")
        assert withdraw_contradicted(session, llm) == 1
        assert set(consensus(session)) == {"t1", "t2", "t3"}
        assert withdraw_contradicted(session, llm) == 0
        queue_for_people(session, llm)
        assert queue(session) == ["t0"]
        check_books(session)


def test_the_keys_of_an_llm_have_a_colon_and_so_are_no_pages(project: Project) -> None:
    with project.sessions.begin() as session:
        llm = llm_of(session)
        recorded(session, llm, "t0", SURE)
        prediction(session, "t0", "idea", 0.99)
        withdraw_contradicted(session, llm)
        keys = session.scalars(select(Annotation.key)).all()
    assert len(keys) == 2
    assert all(":" in key for key in keys)


@pytest.mark.postgres
def test_annotation_and_withdrawal_do_not_deadlock(tmp_path: Path, empty_postgres: str) -> None:
    project = made(tmp_path, db=empty_postgres)
    with project.sessions.begin() as session:
        llm = llm_of(session)
        for id in ("t0", "t1", "t2"):
            recorded(session, llm, id, SURE)
            prediction(session, id, "idea", 0.99)

    def take_back() -> bool:
        with project.sessions.begin() as session:
            return withdraw_contradicted(session, llm) == 3

    while_waiting(project, "t1", take_back)
    with project.reads() as session:
        check_books(session)
