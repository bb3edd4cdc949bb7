from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from hybridal.app.app_errors import MissingError
from hybridal.app.db.schema import Annotation, Trainer
from hybridal.app.exchange.label_studio_import import handle_event
from hybridal.app.exchange.table_files import label_rows
from hybridal.app.project import Project
from hybridal.errors import UserError

from ..made_up import check_books
from ..postgres import while_waiting
from .projects import made

CONFIG = '<View><Text name="t" value="$body"/><Choices name="topic" toName="t"/></View>'


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return made(tmp_path)


def annotated(
    name: str | None, id: int = 17, at: str = "2024-01-01", action: str = "ANNOTATION_CREATED", **more: Any
) -> dict[str, Any]:
    region = {"from_name": "topic", "value": {"choices": [name]}}
    mood = {"from_name": "mood", "value": {"choices": ["happy"]}}
    result = [] if name is None else [mood, region]
    annotation = {
        "id": id,
        "result": result,
        "was_cancelled": name is None,
        "completed_by": 3,
        "updated_at": at,
        "task": 5,
    }
    task = {"id": 5, "data": {"body": "Nobody answered 2.", "title": "x"}}
    return {"action": action, "annotation": annotation, "task": task, "project": {"label_config": CONFIG}, **more}


def send(project: Project, event: dict[str, Any]) -> int:
    return handle_event(project.sessions, event)


def label(project: Project, id: str) -> Any:
    return next((line["label"] for line in label_rows(project.reads) if line["id"] == id), "nothing")


def number(project: Project) -> int:
    with project.reads() as session:
        return session.scalar(select(func.count()).select_from(Annotation)) or 0


def test_an_annotation_becomes_an_answer_once(project: Project) -> None:
    before = number(project)
    assert send(project, annotated("bug")) == 1
    assert send(project, annotated("bug")) == 1
    assert number(project) == before + 1
    assert label(project, "rest 2") == "bug"


def test_updated_annotation_changes_the_label(project: Project) -> None:
    send(project, annotated("bug"))
    send(project, annotated("idea", at="2024-01-02", action="ANNOTATION_UPDATED"))
    assert label(project, "rest 2") == "idea"
    send(project, annotated("bug", at="2024-01-03", action="ANNOTATION_UPDATED"))
    assert label(project, "rest 2") == "bug"
    send(project, annotated(None, at="2024-01-04", action="ANNOTATION_UPDATED"))
    assert label(project, "rest 2") is None


@pytest.mark.parametrize(
    "gone",
    [
        {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 17}]},
        {"action": "ANNOTATION_DELETED", "annotation": {"id": 17}},
    ],
)
def test_deleted_annotation_is_withdrawn(project: Project, gone: dict[str, Any]) -> None:
    send(project, annotated("bug", id=170))
    assert send(project, gone) == 1
    assert label(project, "rest 2") == "bug"
    send(project, annotated("idea"))
    send(project, gone)
    send(project, gone)
    assert label(project, "rest 2") == "nothing"


def test_a_text_that_we_do_not_have_is_added(tmp_path: Path, db: str | None) -> None:
    project = made(tmp_path, db)
    send(project, annotated("question", task={"id": 99, "data": {"body": "Brand new."}}))
    assert label(project, "99") == "question"
    send(project, {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": 17}]})
    assert label(project, "99") == "nothing"


def test_without_the_task_its_number_must_be_one_of_our_ids(project: Project) -> None:
    event = annotated("bug")
    del event["task"]
    with pytest.raises(MissingError, match="Task 5 is not a text of this project"):
        send(project, event)
    event["annotation"]["task"] = "rest 0"
    assert send(project, event) == 1
    assert label(project, "rest 0") == "bug"


def test_several_at_once_are_taken_over(project: Project) -> None:
    one, other = annotated("bug"), annotated("bug", id=18)
    other["annotation"]["completed_by"] = 4
    both = {**one, "action": "ANNOTATIONS_CREATED", "annotation": [one["annotation"], other["annotation"]]}
    assert send(project, both) == 2


@pytest.mark.postgres
def test_annotation_and_event_do_not_deadlock(tmp_path: Path, empty_postgres: str) -> None:
    project = made(tmp_path, empty_postgres)
    one, other = annotated("bug"), annotated("question", id=18)
    del one["task"]
    one["annotation"]["task"], other["annotation"]["task"] = "rest 0", "rest 1"
    both = {**one, "action": "ANNOTATIONS_CREATED", "annotation": [one["annotation"], other["annotation"]]}
    while_waiting(project, "rest 1", lambda: send(project, both) == 2)
    with project.reads() as session:
        check_books(session)


def test_keys_have_a_colon_and_so_are_no_pages(project: Project) -> None:
    before = number(project)
    send(project, annotated("bug"))
    send(project, {"action": "ANNOTATION_DELETED", "annotation": {"id": 17}})
    with project.reads() as session:
        keys = session.scalars(select(Annotation.key).where(Annotation.number > before)).all()
    assert [":" in key for key in keys] == [True, True]


def test_a_wish_for_training_reaches_the_trainer(project: Project) -> None:
    assert send(project, {"action": "START_TRAINING", "project": {}}) == 0
    with project.reads() as session:
        assert session.get_one(Trainer, 1).request == "train"


@pytest.mark.parametrize("event", [{}, {"action": None}, {"action": "PROJECT_UPDATED"}, {"action": ["x"]}])
def test_unrelated_events_are_ignored(project: Project, event: dict[str, Any]) -> None:
    before = number(project)
    assert send(project, event) == 0
    assert number(project) == before


@pytest.mark.parametrize(
    "broken",
    [
        {"annotation": None},
        {"annotation": "x"},
        {"annotation": [3]},
        {"task": {"id": 1, "data": None}},
        {"task": {"id": 1, "data": {"other": "x"}}},
    ],
)
def test_a_broken_event_is_refused_in_a_sentence(project: Project, broken: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        send(project, annotated("bug", **broken))


def test_empty_annotation_is_ignored(project: Project) -> None:
    event = annotated("bug")
    event["annotation"]["result"] = []
    assert send(project, event) == 0
