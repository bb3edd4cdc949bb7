"""Labelling itself: the next texts, annotations, undo, and the classes."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy.orm import Session

from hybridal.app.errors import ConflictError, ForbiddenError, MissingError
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate, find_annotation, undo
from hybridal.app.labelling.consensus import counts
from hybridal.app.labelling.queue import lease_texts
from hybridal.app.people import User, may
from hybridal.app.project import Project
from hybridal.app.settings import read
from hybridal.app.web.auth import Annotator, CurrentProject, Owner, Reviewer
from hybridal.app.web.reading import reads_to
from hybridal.app.web.schemas import ClassSchema, CleanStr, Counts, Item, Items, Key, Number, Saved, Schema, items_of

router = APIRouter(prefix="/api")


class NewClass(Schema):
    """A class to be."""

    name: CleanStr = Field(max_length=classes.LONGEST_NAME, examples=["billing"])
    description: CleanStr = Field("", max_length=2000)


class ClassChange(Schema):
    """What shall be other of a class; its position counts from 0."""

    name: CleanStr | None = Field(None, max_length=classes.LONGEST_NAME, examples=["billing"])
    description: CleanStr | None = Field(None, max_length=2000)
    examples: CleanStr | None = Field(None, max_length=5000)
    position: int | None = Field(None, ge=0, le=classes.MOST_CLASSES)


class MergeTarget(Schema):
    """The class that another becomes."""

    into: Number


def may_define(session: Session, user: User) -> bool:
    """Whether somebody may add classes: owners, and reviewers where the owners let them."""
    return may(user.role, "owner") or (may(user.role, "reviewer") and read(session)["open_classes"])


@router.get("/classes")
def list_classes(_: Annotator, project: CurrentProject) -> Items[ClassSchema]:
    """All classes that can be given."""
    with project.reads() as session:
        return Items(items=[ClassSchema.model_validate(one) for one in classes.active(session)])


@router.post("/classes")
def add_class(new: NewClass, user: Reviewer, project: CurrentProject) -> ClassSchema:
    """Adds a class."""
    with project.sessions.begin() as session:
        if not may_define(session, user):
            raise ForbiddenError("Only an owner may add classes to this project.")
        name = classes.checked(new.name)
        if any(one.name == name for one in classes.active(session)):
            raise ConflictError(f"A class '{name:.40}' already exists.")
        made = classes.add(session, [name])[0]
        if made.name != name:
            raise ConflictError(f"'{name:.40}' was merged into '{made.name:.40}'; choose another name.")
        return ClassSchema.model_validate(classes.describe(session, made.number, new.description))


@router.patch("/classes/{number}")
def change_class(number: Number, change: ClassChange, _: Owner, project: CurrentProject) -> ClassSchema:
    """Renames, describes or moves a class; every label stays."""
    with project.sessions.begin() as session:
        one = classes.get(session, number)
        if change.name is not None:
            one = classes.rename(session, number, change.name)
        one = classes.describe(session, number, change.description, change.examples)
        if change.position is not None:
            one = classes.place(session, number, change.position)
        return ClassSchema.model_validate(one)


@router.post("/classes/{number}/merge")
def merge_classes(number: Number, other: MergeTarget, _: Owner, project: CurrentProject) -> ClassSchema:
    """Makes one class of two; every label stays, and is of the other class now."""
    with project.sessions.begin() as session:
        return ClassSchema.model_validate(classes.merge(session, number, other.into))


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
