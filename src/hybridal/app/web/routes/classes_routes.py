"""The classes: defined, described, ordered, merged, archived and deleted."""

from __future__ import annotations

from pydantic import Field
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError, ForbiddenError
from hybridal.app.labelling import classes
from hybridal.app.labelling.removed_classes import merge, remove
from hybridal.app.people import User, may
from hybridal.app.project import Project
from hybridal.app.project_settings import read
from hybridal.app.web.auth import Annotator, CurrentProject, Owner, Reviewer
from hybridal.app.web.background_updates import at_work, catch_up, left_to_follow
from hybridal.app.web.project_threads import Router, in_thread
from hybridal.app.web.schemas import ClassSchema, CleanStr, Items, Number, Schema

router = Router(prefix="/api/classes", lifespan=at_work)


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
    archived: classes.Archived | None = Field(
        None,
        description="`kept`: nobody is offered it any more, and the model goes on learning its labels. `out`: it does "
        "not. Empty: it can be given.",
    )


class MergeTarget(Schema):
    """The class that another becomes."""

    into: Number


def may_define(session: Session, user: User) -> bool:
    """Whether somebody may add classes: owners, and reviewers where the owners let them."""
    return may(user.role, "owner") or (may(user.role, "reviewer") and read(session)["open_classes"])


@router.get("")
def list_classes(_: Annotator, project: CurrentProject, archived: bool = False) -> Items[ClassSchema]:
    """All classes that can be given, or the `archived` ones too."""
    with project.reads() as session:
        found = classes.current(session) if archived else classes.active(session)
        return Items(items=[ClassSchema.model_validate(one) for one in found])


@router.post("")
def add_class(new: NewClass, user: Reviewer, project: CurrentProject) -> ClassSchema:
    """Adds a class."""
    with project.sessions.begin() as session:
        if not may_define(session, user):
            raise ForbiddenError("Only an owner may add classes to this project.")
        name = classes.checked(new.name)
        there = {one.name: one for one in classes.current(session)}
        if name in there:
            state = "is archived; bring it back on the page Settings" if there[name].archived else "already exists"
            raise ConflictError(f"A class '{name:.40}' {state}.")
        made = classes.add(session, [name])[0]
        if made.name != name:
            raise ConflictError(f"'{name:.40}' was merged into '{made.name:.40}'; choose another name.")
        return ClassSchema.model_validate(classes.describe(session, made.number, new.description))


@router.patch("/{number}")
def change_class(number: Number, change: ClassChange, _: Owner, project: CurrentProject) -> ClassSchema:
    """Renames, describes, moves or archives a class; every label stays."""
    with project.sessions.begin() as session:
        one = classes.get(session, number)
        if change.name is not None:
            one = classes.rename(session, number, change.name)
        one = classes.describe(session, number, change.description, change.examples)
        if change.archived is not None:
            one = classes.archive(session, number, change.archived)
        if change.position is not None:
            one = classes.place(session, number, change.position)
        return ClassSchema.model_validate(one)


@router.post("/{number}/merge")
async def merge_classes(number: Number, other: MergeTarget, _: Owner, project: CurrentProject) -> ClassSchema:
    """Makes one class of two; every label stays, and is of the other class now."""
    left = await in_thread(_merge, project, number, other.into)
    await catch_up(project)
    return left


class Unlabelled(Schema):
    """How many texts a deleted class was said of, or have to do with a class that is gone."""

    texts: int


@router.post("/{number}/delete")
async def delete_class(number: Number, _: Owner, project: CurrentProject) -> Unlabelled:
    """Deletes a class: what was said of it stays in the record, and is no label any more. `merge` keeps its labels."""
    texts = await in_thread(_remove, project, number)
    await catch_up(project)
    return Unlabelled(texts=texts)


@router.get("/deletion")
def get_deletion(_: Owner, project: CurrentProject) -> Unlabelled:
    """How many texts are left that have to do with a class that is being deleted or merged."""
    return Unlabelled(texts=len(left_to_follow(project)))


def _merge(project: Project, number: int, into: int) -> ClassSchema:
    with project.sessions.begin() as session:
        return ClassSchema.model_validate(merge(session, number, into))


def _remove(project: Project, number: int) -> int:
    with project.sessions.begin() as session:
        return remove(session, number)
