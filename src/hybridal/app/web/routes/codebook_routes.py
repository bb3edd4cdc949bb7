"""Routes for the codebook: its versions, splits and new definitions, and the labels that these touch."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import CodebookVersion, LabelSet, Person, Recheck
from hybridal.app.insight.codebook_agreement import AgreementOverChange, agreement_over_change
from hybridal.app.labelling import classes
from hybridal.app.labelling.class_changes import Part, redefine, split
from hybridal.app.labelling.codebook import ChangedClass, Codebook, codebook_at, newest_version, without_changes
from hybridal.app.labelling.rechecks import (
    RecheckCounts,
    add_rechecks,
    dismiss,
    lease_rechecks,
    postpone,
    recheck_counts,
)
from hybridal.app.labelling.stored_class_sets import class_names, named
from hybridal.app.labelling.touched_labels import REASONS, Reason, chosen_rows, touched_labels
from hybridal.app.project_settings import read
from hybridal.app.web.auth import Annotator, CurrentProject, Owner, Reviewer
from hybridal.app.web.project_threads import Router
from hybridal.app.web.routes.comments_routes import CommentedItem, with_threads
from hybridal.app.web.routes.labelling_routes import label_items, with_truncation
from hybridal.app.web.schemas import CleanStr, Done, Items, Number, Schema

router = Router(prefix="/api/codebook")

VERSIONS_PER_PAGE = 50
MAX_LINES = 1000
VersionNumber = Annotated[int, Path(ge=0, le=2**31 - 1)]


class ClassEntry(Schema):
    """A class as it was in a version of the codebook; `merged_into` is the number of another class."""

    number: int
    name: str
    description: str
    examples: str
    group: str
    archived: str
    merged_into: int | None


class ClassChanged(Schema):
    """What a version changed of a class: its name at that time, and the fields that differ."""

    number: int
    name: str
    before: dict[str, Any] | None = Field(description="null for a new class.")
    after: dict[str, Any]


class VersionSchema(Schema):
    """A version of the codebook: who made it and when, what it changed, and what became of the labels that it queued.

    `class` is the class that was split or redefined, `parts` what it was split into.
    """

    number: int
    at: float
    person: str | None = Field(description="null if the classes came with the project or a file.")
    operation: str
    class_: str | None = Field(validation_alias="class", serialization_alias="class")
    parts: list[str]
    changes: list[ClassChanged]
    rechecks: RecheckCounts


class Versions(Schema):
    """Versions of the codebook, the newest first; `next` is the `before` of the following page."""

    items: list[VersionSchema]
    next: int | None


@router.get("/versions")
def list_versions(
    _: Reviewer,
    project: CurrentProject,
    before: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Only older versions.")] = None,
) -> Versions:
    """The versions of the codebook, the newest first."""
    with project.reads() as session:
        newest = newest_version(session)
        last = newest if before is None else min(newest, before - 1)
        wanted = select(CodebookVersion, Person.name).outerjoin(Person, Person.number == CodebookVersion.person_number)
        wanted = wanted.where(CodebookVersion.number <= last).order_by(CodebookVersion.number.desc())
        rows = session.execute(wanted.limit(VERSIONS_PER_PAGE)).all()
        codebook, counts = codebook_at(session, last), recheck_counts(session)
        found = []
        for one, person in rows:
            found.append(_version(one, person, codebook, counts.get(one.number, RecheckCounts())))
            codebook = without_changes(codebook, [ChangedClass(**change) for change in one.changes])
    more = found and found[-1].number > 1
    return Versions(items=found, next=found[-1].number if more else None)


def _version(one: CodebookVersion, person: str | None, after: Codebook, counts: RecheckCounts) -> VersionSchema:
    return VersionSchema(
        number=one.number,
        at=one.made,
        person=person,
        operation=one.operation,
        class_=None if one.class_number is None else after[one.class_number]["name"],
        parts=[after[number]["name"] for number in one.parts],
        changes=[ClassChanged(name=after[change["number"]]["name"], **change) for change in one.changes],
        rechecks=counts,
    )


@router.get("/versions/{version}")
def get_codebook(version: VersionNumber, _: Annotator, project: CurrentProject) -> Items[ClassEntry]:
    """All classes of a version, archived, merged and deleted ones included."""
    with project.reads() as session:
        found = codebook_at(session, version)
    return Items(items=[ClassEntry(number=number, **fields) for number, fields in found.items()])


@router.get("/versions/{version}/agreement")
def get_agreement_over_change(version: VersionNumber, _: Reviewer, project: CurrentProject) -> AgreementOverChange:
    """Krippendorff's α of the answers before and after a version."""
    with project.reads() as session:
        return agreement_over_change(session, version)


class Touched(Schema):
    """How many labels a change of a class may touch, by reason."""

    class_: int = Field(alias="class", description="Labels of the class.")
    model: int = Field(description="Labels of other classes of which the model predicts this one.")
    similar: int = Field(description="Labels of other classes whose texts resemble those of this class.")


@router.get("/touched")
def get_touched(
    _: Owner, project: CurrentProject, class_: Annotated[Number, Query(alias="class", description="Its number.")]
) -> Touched:
    """How many labels a new definition of a class may touch; a label counts for its first reason only."""
    with project.reads() as session:
        classes.get(session, class_)
        found = touched_labels(session, class_, project.embeddings.read())
    return Touched(**{reason: len(found[reason]) for reason in REASONS})


class PartSchema(Schema):
    """A class that another one is split into; it is added if there is none of this name."""

    name: CleanStr = Field(max_length=classes.LONGEST_NAME, examples=["refund"])
    description: CleanStr = Field("", max_length=2000, description="Empty: that of an existing class stays.")


class Split(Schema):
    """A class by its number, and what it is split into; if it is itself one of the parts, it goes on."""

    class_: Number = Field(alias="class")
    parts: list[PartSchema] = Field(max_length=MAX_LINES, examples=[[{"name": "refund"}, {"name": "invoice"}]])


class Redefinition(Schema):
    """A new definition of a class, and which labels people shall look at again."""

    class_: Number = Field(alias="class")
    description: CleanStr = Field(max_length=2000)
    examples: CleanStr | None = Field(None, max_length=5000)
    recheck: list[Reason] = Field(["class"], description="See `GET /api/codebook/touched`.")


class Changed(Schema):
    """The version of the codebook that a change has made, and how many labels it has queued."""

    version: int
    queued: int


@router.post("/split")
def split_class(given: Split, user: Owner, project: CurrentProject) -> Changed:
    """Split a class into others. All its labels are queued for people to look at again."""
    with project.sessions.begin() as session:
        touched = touched_labels(session, given.class_, None)["class"]
        parts = [Part(part.name, part.description) for part in given.parts]
        version = split(session, user.person, given.class_, parts)
        return Changed(version=version, queued=add_rechecks(session, version, dict.fromkeys(touched, "class")))


@router.post("/redefine")
def redefine_class(given: Redefinition, user: Owner, project: CurrentProject) -> Changed:
    """Give a class a new definition. Its labels stay, and those chosen are queued for people to look at again."""
    with project.sessions.begin() as session:
        version = redefine(session, user.person, given.class_, given.description, given.examples)
        vectors = project.embeddings.read() if "similar" in given.recheck else None
        touched = touched_labels(session, given.class_, vectors)
        return Changed(version=version, queued=add_rechecks(session, version, chosen_rows(touched, given.recheck)))


class Dismissed(Schema):
    """The number of texts that were still queued."""

    texts: int


@router.post("/versions/{version}/dismiss")
def dismiss_rechecks(version: VersionNumber, _: Owner, project: CurrentProject) -> Dismissed:
    """End the queue of a version; the texts that are left keep their old answers."""
    with project.sessions.begin() as session:
        return Dismissed(texts=dismiss(session, version))


class RecheckItem(CommentedItem):
    """A text to look at again: the answer that it had, and the version that has queued it."""

    old: list[str] = Field(description="The classes of the old answer; empty for none of the classes.")
    version: int
    reason: str


class Rechecks(Schema):
    """Texts to look at again, and how many are left."""

    items: list[RecheckItem]
    left: int


@router.get("/rechecks/next")
def next_rechecks(
    user: Annotator,
    project: CurrentProject,
    n: Annotated[int, Query(ge=1, le=100)] = 5,
    version: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Only texts that it has queued.")] = None,
) -> Rechecks:
    """The next texts to look at again; they are leased to this person. Answer with `POST /api/annotations`."""
    with project.sessions.begin() as session:
        settings = read(session)
        leased = lease_rechecks(session, user.person.number, n, settings, version)
        items = label_items(session, project, [text for text, _ in leased], user, settings)
        old = [_old_answer(session, one) for _, one in leased]
        counts = recheck_counts(session)
    shown = with_threads(project, user, with_truncation(project, items))
    found = [
        RecheckItem(**dict(item), old=names, version=one.version, reason=one.reason)
        for item, names, (_, one) in zip(shown, old, leased, strict=True)
    ]
    return Rechecks(items=found, left=sum(one.open for number, one in counts.items() if version in (None, number)))


def _old_answer(session: Session, recheck: Recheck) -> list[str]:
    """The names that the classes of the old answer have now."""
    names, now, gone = class_names(session), classes.current_classes(session), classes.deleted_classes(session)
    if recheck.label_set is not None:
        return named(session.get_one(LabelSet, recheck.label_set).classes.renamed(now, gone), names)
    number = None if recheck.class_number is None else now[recheck.class_number]
    return [names[number]] if number in names else []


class Postponed(Schema):
    """A text by its id."""

    text: CleanStr = Field(examples=["t17"])


@router.post("/rechecks/postpone")
def postpone_recheck(given: Postponed, user: Annotator, project: CurrentProject) -> Done:
    """Put a text to the end of the queue; it keeps its old answer for now."""
    with project.sessions.begin() as session:
        postpone(session, user.person.number, given.text)
    return Done()
