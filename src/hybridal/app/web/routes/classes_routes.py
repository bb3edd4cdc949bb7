"""Routes for classes: add, describe, reorder, merge, archive, delete."""

from __future__ import annotations

from pydantic import Field
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError, ForbiddenError
from hybridal.app.db.schema import Person
from hybridal.app.labelling import classes
from hybridal.app.labelling.codebook import recording
from hybridal.app.labelling.removed_classes import merge, remove
from hybridal.app.people import User, may
from hybridal.app.project import Project
from hybridal.app.project_settings import read
from hybridal.app.web.auth import Annotator, CurrentProject, Owner, Reviewer
from hybridal.app.web.background_updates import catch_up, lifespan, rows_left
from hybridal.app.web.project_threads import Router, in_thread
from hybridal.app.web.schemas import ClassSchema, CleanStr, Items, ListedClass, Number, Schema, entry
from hybridal.sentences import Sentence, translatable

router = Router(prefix="/api/classes", lifespan=lifespan)


class NewClass(Schema):
    """A class to add."""

    name: CleanStr = Field(max_length=classes.LONGEST_NAME, examples=["billing"])
    description: CleanStr = Field("", max_length=classes.LONGEST_DESCRIPTION)
    group: CleanStr = Field("", max_length=classes.LONGEST_NAME)


class ClassList(Schema):
    """Classes to add or to update, for example from a spreadsheet."""

    classes: list[ListedClass] = Field(min_length=1, max_length=classes.MAX_CLASSES)


class Defined(Schema):
    """The number of classes that were added, and of known ones that changed."""

    added: int
    changed: int


class ClassChange(Schema):
    """Fields of a class to update; its position counts from 0."""

    name: CleanStr | None = Field(None, max_length=classes.LONGEST_NAME, examples=["billing"])
    description: CleanStr | None = Field(None, max_length=classes.LONGEST_DESCRIPTION)
    examples: CleanStr | None = Field(None, max_length=5000)
    key: CleanStr | None = Field(None, max_length=10, description="Empty: one by its place.", examples=["x"])
    keywords: CleanStr | None = Field(
        None, max_length=5000, description="Words to highlight in texts, one per line.", examples=["refund\nmoney back"]
    )
    group: CleanStr | None = Field(None, max_length=classes.LONGEST_NAME, description="Empty: in no group.")
    position: int | None = Field(None, ge=0, le=classes.MAX_CLASSES)
    archived: classes.Archived | None = Field(
        None,
        description="`kept`: the class is no longer offered, but the model still learns its labels. `out`: the model "
        "does not learn its labels either. Empty: the class is active.",
    )


class MergeTarget(Schema):
    """The number of the class that the other one is merged into."""

    into: Number


def may_define(session: Session, user: User) -> bool:
    """Whether a user may add classes: owners always, reviewers if the setting `open_classes` allows it."""
    return may(user.role, "owner") or (may(user.role, "reviewer") and read(session)["open_classes"])


@router.get("")
def list_classes(_: Annotator, project: CurrentProject, archived: bool = False) -> Items[ClassSchema]:
    """The active classes, or with `archived` all classes."""
    with project.reads() as session:
        found = classes.current(session) if archived else classes.active(session)
        return Items(items=[ClassSchema.model_validate(one) for one in found])


@router.post("")
def add_class(new: NewClass, user: Reviewer, project: CurrentProject) -> ClassSchema:
    """Add a class."""
    with project.sessions.begin() as session:
        if not may_define(session, user):
            raise ForbiddenError(translatable("Only an owner may add classes to this project."))
        name = classes.checked(new.name)
        there = {one.name: one for one in classes.current(session)}
        if name in there:
            archived = translatable("A class '{name}' is archived; restore it on the page Settings.")
            exists = translatable("A class '{name}' already exists.")
            raise ConflictError(Sentence(archived if there[name].archived else exists, name=name[:40]))
        with recording(session, user.person):
            made = classes.add(session, [name])[0]
            if made.name != name:
                merged = translatable("'{name}' was merged into '{other}'; choose another name.")
                raise ConflictError(Sentence(merged, name=name[:40], other=made.name[:40]))
            made = classes.describe(session, made.number, new.description)
            if new.group.strip():
                made = classes.put_in_group(session, made.number, new.group)
        return ClassSchema.model_validate(made)


@router.post("/list")
def define_classes(given: ClassList, user: Owner, project: CurrentProject) -> Defined:
    """Add several classes at once; the description and key of known ones are updated where they are not empty."""
    with project.sessions.begin() as session, recording(session, user.person):
        added, changed = classes.define(session, [entry(one) for one in given.classes])
    return Defined(added=added, changed=changed)


@router.patch("/{number}")
def change_class(number: Number, change: ClassChange, user: Owner, project: CurrentProject) -> ClassSchema:
    """Rename, describe, move or archive a class; all its labels are kept."""
    with project.sessions.begin() as session, recording(session, user.person):
        one = classes.get(session, number)
        if change.name is not None:
            one = classes.rename(session, number, change.name)
        one = classes.describe(session, number, change.description, change.examples)
        if change.key is not None:
            one = classes.set_key(session, number, change.key)
        if change.keywords is not None:
            one = classes.set_keywords(session, number, change.keywords)
        if change.group is not None:
            one = classes.put_in_group(session, number, change.group)
        if change.archived is not None:
            one = classes.archive(session, number, change.archived)
        if change.position is not None:
            one = classes.place(session, number, change.position)
        return ClassSchema.model_validate(one)


@router.post("/{number}/merge")
async def merge_classes(number: Number, other: MergeTarget, user: Owner, project: CurrentProject) -> ClassSchema:
    """Merge a class into another, which gets all its labels."""
    left = await in_thread(_merge, project, user.person, number, other.into)
    await catch_up(project)
    return left


class Unlabelled(Schema):
    """The number of texts that lost a deleted class, or that still refer to a deleted or merged one."""

    texts: int


@router.post("/{number}/delete")
async def delete_class(number: Number, user: Owner, project: CurrentProject) -> Unlabelled:
    """Delete a class: its texts become unlabelled; its labels stay only in the history. To keep them, use `merge`."""
    texts = await in_thread(_remove, project, user.person, number)
    await catch_up(project)
    return Unlabelled(texts=texts)


@router.get("/deletion")
def get_deletion(_: Owner, project: CurrentProject) -> Unlabelled:
    """The number of texts that still have to be updated after classes were deleted or merged."""
    return Unlabelled(texts=len(rows_left(project)))


def _merge(project: Project, person: Person, number: int, into: int) -> ClassSchema:
    with project.sessions.begin() as session, recording(session, person):
        return ClassSchema.model_validate(merge(session, number, into))


def _remove(project: Project, person: Person, number: int) -> int:
    with project.sessions.begin() as session, recording(session, person):
        return remove(session, number)
