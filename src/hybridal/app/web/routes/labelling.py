"""Labelling itself: the next texts, annotations, and undo."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy.orm import Session

from hybridal.app.errors import MissingError
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate, find_annotation, undo
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.queue import lease_texts
from hybridal.app.people import User
from hybridal.app.project import Project
from hybridal.app.settings import read
from hybridal.app.web.auth import Annotator, CurrentProject
from hybridal.app.web.reading import reads_to
from hybridal.app.web.routes.classes import may_define
from hybridal.app.web.schemas import CleanStr, Counts, Item, Key, Saved, Schema, items_of

router = APIRouter(prefix="/api")


class Next(Schema):
    """Texts for who asks, and how many texts are not labelled yet."""

    items: list[Item]
    left: int


class NewAnnotation(Schema):
    """What somebody says of a text; `key` is drawn by the page, so that sending it twice counts once."""

    key: Key
    text: CleanStr = Field(description="Its id.", examples=["t17"])
    action: Literal["label", "skip"]
    class_: CleanStr | None = Field(
        None, validation_alias="class", serialization_alias="class", max_length=classes.LONGEST_NAME, examples=["bug"]
    )
    flagged: bool = False
    comment: CleanStr = Field("", max_length=10_000)


class UndoRequest(Schema):
    """A key of its own, so that sending it twice takes one answer back; `undoes` is the key of that answer."""

    key: Key
    undoes: Key | None = None


class Undone(Schema):
    """The text whose answer was taken back, if there was one."""

    item: Item | None
    counts: Counts


@router.get("/next")
def next_texts(user: Annotator, project: CurrentProject, n: Annotated[int, Query(ge=1, le=100)] = 5) -> Next:
    """The next texts for who asks; they are theirs for some minutes."""
    with project.sessions.begin() as session:
        decided, now = read(session), counts(session)
        shown = items_of(session, lease_texts(session, user.person, n), decided["show_predictions"])
    return Next(items=_with_reading(project, shown), left=now["texts"] - now["labelled"])


@router.post("/annotations")
def create_annotation(given: NewAnnotation, user: Annotator, project: CurrentProject) -> Saved:
    """Writes an answer down; when this returns, it is safe."""
    with project.sessions.begin() as session:
        # Sent again, it defines nothing: its class may have another name by now.
        if given.class_ is not None and find_annotation(session, user.person, given.key) is None:
            _define(session, user, given.class_)
            classes.check_offered(session, given.class_)
        annotate(
            session,
            user.person,
            given.text,
            given.action,
            class_name=given.class_,
            flagged=given.flagged,
            comment=given.comment,
            key=given.key,
        )
        now = counts(session)
    return Saved(ok=True, counts=Counts(**now))


@router.post("/undo")
def undo_annotation(asked: UndoRequest, user: Annotator, project: CurrentProject) -> Undone:
    """Takes an answer of who asks back, the newest unless they name one, and gives them its text again."""
    with project.sessions.begin() as session:
        text = undo(session, user.person, asked.key, asked.undoes)
        shown = items_of(session, [] if text is None else [text], read(session)["show_predictions"])
        now = counts(session)
    return Undone(item=next(iter(_with_reading(project, shown)), None), counts=Counts(**now))


def _with_reading(project: Project, items: list[Item]) -> list[Item]:
    """With how much the model reads of each; after the transaction, since others wait for its end."""
    return [item.model_copy(update={"read_to": reads_to(project, item.text)}) for item in items]


def _define(session: Session, user: User, name: str) -> None:
    """Makes a class that is new, for those who may define classes as they go."""
    if may_define(session, user):
        try:
            classes.find(session, name)
        except MissingError:
            classes.add(session, [name])
