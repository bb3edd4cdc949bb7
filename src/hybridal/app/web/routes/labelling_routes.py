"""Labelling itself: the next texts, annotations, and undo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ForbiddenError, MissingError
from hybridal.app.db.schema import clean
from hybridal.app.insight.ranking import likeliest
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate, find_annotation, undo
from hybridal.app.labelling.bulk import MOST, label_many, undo_many
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.queue import lease_texts
from hybridal.app.people import User
from hybridal.app.project import Project
from hybridal.app.project_settings import read
from hybridal.app.web.auth import Annotator, CurrentProject, sees_predictions
from hybridal.app.web.project_threads import Router
from hybridal.app.web.reading import reads_to
from hybridal.app.web.routes.classes_routes import may_define
from hybridal.app.web.schemas import BatchKey, CleanStr, Counts, Item, Key, Saved, Schema, items_of

router = Router(prefix="/api")


class Next(Schema):
    """Texts for who asks, and how many texts are not labelled yet."""

    items: list[Item]
    left: int
    known: bool = Field(True, description="False: no model knows the class that is hunted for; texts come as usual.")


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
    new_class: bool = Field(False, description="Add the class if there is none of this name; annotators may not.")


class UndoRequest(Schema):
    """A key of its own, so that sending it twice takes one answer back; `undoes` is the key of that answer."""

    key: Key
    undoes: Key | None = None


class Undone(Schema):
    """The text whose answer was taken back, if there was one."""

    item: Item | None
    counts: Counts


@router.get("/next")
def next_texts(
    user: Annotator,
    project: CurrentProject,
    n: Annotated[int, Query(ge=1, le=100)] = 5,
    likely: Annotated[str, Query(max_length=classes.LONGEST_NAME, description="The class to hunt for.")] = "",
    afresh: Annotated[bool, Query(description="Others in place of those that they have already.")] = False,
) -> Next:
    """The next texts for who asks; they are theirs for some minutes.

    Those that are most `likely` of a class come before what the model wants to know; validation texts come as always.
    """
    wanted = _likely(project, user, clean(likely)) if likely else ()
    with project.sessions.begin() as session:
        settings = read(session)
        served = lease_texts(session, user.person, n, settings, wanted, afresh)
        shown = items_of(session, served.texts, settings["show_predictions"])
    return Next(items=_with_reading(project, shown), left=served.left, known=not likely or bool(wanted))


def _likely(project: Project, user: User, name: str) -> Sequence[int]:
    with project.reads() as session:
        if not sees_predictions(user, read(session)):
            raise ForbiddenError("In this project annotators do not see predictions; ask an owner.")
        number = classes.find(session, name).number
    return likeliest(project, number)


@router.post("/annotations")
def create_annotation(given: NewAnnotation, user: Annotator, project: CurrentProject) -> Saved:
    """Writes an answer down; when this returns, it is safe."""
    with project.sessions.begin() as session:
        # Only when it is asked for: a misspelt class must be an error, and one that an open page still shows, but
        # that was renamed or deleted, must not come back.
        if given.class_ is not None and given.new_class and may_define(session, user):
            _define(session, user, given.class_, given.key)
        now = annotate(
            session,
            user.person,
            given.text,
            given.action,
            class_name=given.class_,
            flagged=given.flagged,
            comment=given.comment,
            key=given.key,
            offered=True,
        )
    return Saved(ok=True, counts=Counts(**now))


@router.post("/undo")
def undo_annotation(asked: UndoRequest, user: Annotator, project: CurrentProject) -> Undone:
    """Takes an answer of who asks back, the newest unless they name one, and gives them its text again."""
    with project.sessions.begin() as session:
        text = undo(session, user.person, asked.key, asked.undoes)
        shown = items_of(session, [] if text is None else [text], read(session)["show_predictions"])
        now = counts(session)
    return Undone(item=next(iter(_with_reading(project, shown)), None), counts=Counts(**now))


class ManyLabels(Schema):
    """Classes by the ids of texts; `key` is drawn by the page, so that sending it twice counts once."""

    key: BatchKey
    labels: dict[CleanStr, CleanStr] = Field(min_length=1, max_length=MOST, examples=[{"t17": "bug"}])


class UndoManyRequest(Schema):
    """A key of its own, and `undoes`, that of the labels."""

    key: BatchKey
    undoes: BatchKey


class SavedMany(Saved):
    """`n` texts were labelled, or taken back; the others had an answer by now, or are only measured on."""

    n: int


@router.post("/annotations/many")
def label_texts(given: ManyLabels, user: Annotator, project: CurrentProject) -> SavedMany:
    """Labels many texts at once: of those to learn from, the ones that who asks has not answered yet."""
    with project.reads() as session:
        for name in {*given.labels.values()}:
            classes.find_offered(session, name)
    n = label_many(project.sessions, user.person, given.labels, given.key)
    with project.reads() as session:
        return SavedMany(ok=True, n=n, counts=Counts(**counts(session)))


@router.post("/undo/many")
def undo_labels(asked: UndoManyRequest, user: Annotator, project: CurrentProject) -> SavedMany:
    """Takes many labels back that were given at once, where they still stand."""
    n = undo_many(project.sessions, user.person, asked.key, asked.undoes)
    with project.reads() as session:
        return SavedMany(ok=True, n=n, counts=Counts(**counts(session)))


def _with_reading(project: Project, items: list[Item]) -> list[Item]:
    """With how much the model reads of each; after the transaction, since others wait for its end."""
    return [item.model_copy(update={"read_to": reads_to(project, item.text)}) for item in items]


def _define(session: Session, user: User, name: str, key: str) -> None:
    """Makes a class that is new; sent again, an answer defines nothing: its class may have another name by now."""
    if find_annotation(session, user.person, key) is None:
        try:
            classes.find(session, name)
        except MissingError:
            classes.add(session, [name])
