"""Routes to delete and restore texts, by id or all that a search finds."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError
from hybridal.app.db.schema import Text, now
from hybridal.app.labelling.removal import delete_texts, in_parts, restore_texts
from hybridal.app.labelling.text_search import Conditions, State, rows_found
from hybridal.app.web.auth import CurrentProject, Owner
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import CleanStr, Schema
from hybridal.errors import UserError
from hybridal.sentences import Sentence, translatable

router = Router(prefix="/api/texts")

Ids = Annotated[list[CleanStr], Field(max_length=500, examples=[["t17"]])]


class Query(Schema):
    """A search like that of the list of texts.

    `expected` is the number of texts found, which the list returns with `exact`; another number is an error.
    """

    search: CleanStr = Field("", max_length=200)
    class_: CleanStr = Field("", alias="class", max_length=200)
    lacks: CleanStr = Field("", max_length=200)
    state: State | None = None
    expected: int


class Deletion(Schema):
    """Texts by their ids, or all that a search finds."""

    ids: Ids = Field(default_factory=list)
    found: Query | None = None


class Deleted(Schema):
    """The number of deleted texts, and the time of the deletion, by which all of them can be restored."""

    deleted: int
    at: float


class Restoration(Schema):
    """Deleted texts by their ids, or all of one deletion by its time."""

    ids: Ids = Field(default_factory=list)
    at: float | None = None


class Restored(Schema):
    """The number of restored texts."""

    restored: int


@router.post("/delete")
def delete(wanted: Deletion, _: Owner, project: CurrentProject) -> Deleted:
    """Delete texts: they are no longer labelled, shown, scored, exported or learned. Their annotations are kept."""
    at = now()
    with project.reads() as session:
        rows = [*_rows(session, wanted.ids), *(_all(session, wanted.found) if wanted.found else [])]
    return Deleted(deleted=in_parts(project.sessions, partial(delete_texts, at=at), rows), at=at)


@router.post("/restore")
def restore(wanted: Restoration, _: Owner, project: CurrentProject) -> Restored:
    """Restore deleted texts with their labels."""
    with project.reads() as session:
        rows = _rows(session, wanted.ids)
        if wanted.at is not None:
            rows += session.scalars(select(Text.row).where(Text.deleted == wanted.at))
    return Restored(restored=in_parts(project.sessions, restore_texts, rows))


def _rows(session: Session, ids: list[str]) -> list[int]:
    return [*session.scalars(select(Text.row).where(Text.id.in_(ids)))]


def _all(session: Session, query: Query) -> list[int]:
    if not (query.search.strip() or query.class_ or query.lacks or query.state):
        raise UserError(translatable("Search for the texts to delete, or choose a class or a state first."))
    rows = rows_found(session, Conditions(query.search, query.class_, query.lacks, query.state))
    if query.expected != len(rows):
        raise ConflictError(
            Sentence(
                "The search now finds {found} instead of {expected} texts; reload the list.",
                found=len(rows),
                expected=query.expected,
            )
        )
    return rows
