"""The classes."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class
from hybridal.app.errors import ConflictError, ForbiddenError
from hybridal.app.labelling import classes
from hybridal.app.labelling.merge import merge
from hybridal.app.people.accounts import may
from hybridal.app.people.logins import Visitor
from hybridal.app.settings import read
from hybridal.app.web.access import Annotator, Opened, Owner, Reviewer
from hybridal.app.web.shapes import ClassShape, Number, Shape, Words

router = APIRouter(prefix="/api/classes")


class Classes(Shape):
    """The classes in their order."""

    items: list[ClassShape]


class New(Shape):
    """A class to be."""

    name: Words = Field(max_length=classes.LONGEST)
    description: Words = Field("", max_length=2000)


class Change(Shape):
    """What shall be other of a class; its position counts from 0."""

    name: Words | None = Field(None, max_length=classes.LONGEST)
    description: Words | None = Field(None, max_length=2000)
    position: int | None = Field(None, ge=0, le=classes.MOST)


class Into(Shape):
    """The class that another becomes."""

    into: Number


def shape(one: Class) -> ClassShape:
    """A class as JSON."""
    return ClassShape(number=one.number, name=one.name, description=one.description, position=one.position)


def may_define(session: Session, visitor: Visitor) -> bool:
    """Whether somebody may add classes: owners, and reviewers where the owners let them."""
    return may(visitor.person, "owner") or (may(visitor.person, "reviewer") and read(session)["open_classes"])


@router.get("")
def listed(_: Annotator, project: Opened) -> Classes:
    """All classes that can be given."""
    with project.reads() as session:
        return Classes(items=[shape(one) for one in classes.active(session)])


@router.post("")
def added(new: New, visitor: Reviewer, project: Opened) -> ClassShape:
    """Adds a class."""
    with project.sessions.begin() as session:
        if not may_define(session, visitor):
            raise ForbiddenError("Only an owner may add classes to this project.")
        name = classes.checked(new.name)
        if any(one.name == name for one in classes.active(session)):
            raise ConflictError(f"There is a class '{name:.40}' already.")
        made = classes.add(session, [name])[0]
        if made.name != name:
            raise ConflictError(f"'{name:.40}' was merged into '{made.name:.40}'; choose another name.")
        return shape(classes.describe(session, made.number, new.description))


@router.patch("/{number}")
def changed(number: Number, change: Change, _: Owner, project: Opened) -> ClassShape:
    """Renames, describes or moves a class; every label stays."""
    with project.sessions.begin() as session:
        one = classes.get(session, number)
        if change.name is not None:
            one = classes.rename(session, number, change.name)
        if change.description is not None:
            one = classes.describe(session, number, change.description)
        if change.position is not None:
            one = classes.place(session, number, change.position)
        return shape(one)


@router.post("/{number}/merge")
def merged(number: Number, other: Into, _: Owner, project: Opened) -> ClassShape:
    """Makes one class of two; every label stays, and is of the other class now."""
    with project.sessions.begin() as session:
        return shape(merge(session, number, other.into))
