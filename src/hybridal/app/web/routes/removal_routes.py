"""Texts are deleted, some of them or all that a search finds, and brought back."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError
from hybridal.app.db.schema import Text, now
from hybridal.app.labelling.removal import delete_texts, in_parts, restore_texts
from hybridal.app.labelling.text_search import State, rows_found
from hybridal.app.web.auth import CurrentProject, Owner
from hybridal.app.web.project_threads import Router
from hybridal.app.web.schemas import CleanStr, Schema
from hybridal.errors import UserError

router = Router(prefix="/api/texts")

Ids = Annotated[list[CleanStr], Field(max_length=500, examples=[["t17"]])]


class Query(Schema):
    """The texts that a search finds, as the list of texts is asked.

    `expected` is how many of them somebody was told of: a search that is asked for an `exact` number says it.
    """

    search: CleanStr = Field("", max_length=200)
    class_: CleanStr = Field("", alias="class", max_length=200)
    state: State | None = None
    expected: int


class Deletion(Schema):
    """Texts by their ids, or all that a search finds."""

    ids: Ids = Field(default_factory=list)
    found: Query | None = None


class Deleted(Schema):
    """How many were deleted, and at what time: all of them are brought back by it."""

    deleted: int
    at: float


class Restoration(Schema):
    """Deleted texts by their ids, or all that were deleted at one time."""

    ids: Ids = Field(default_factory=list)
    at: float | None = None


class Restored(Schema):
    """How many were brought back."""

    restored: int


@router.post("/delete")
def delete(wanted: Deletion, _: Owner, project: CurrentProject) -> Deleted:
    """Deletes texts: they are not asked for, shown, scored, exported or learnt any more; the record of labels stays."""
    at = now()
    with project.reads() as session:
        rows = [*_rows(session, wanted.ids), *(_all(session, wanted.found) if wanted.found else [])]
    return Deleted(deleted=in_parts(project.sessions, partial(delete_texts, at=at), rows), at=at)


@router.post("/restore")
def restore(wanted: Restoration, _: Owner, project: CurrentProject) -> Restored:
    """Brings deleted texts back with their labels."""
    with project.reads() as session:
        rows = _rows(session, wanted.ids)
        if wanted.at is not None:
            rows += session.scalars(select(Text.row).where(Text.deleted == wanted.at))
    return Restored(restored=in_parts(project.sessions, restore_texts, rows))


def _rows(session: Session, ids: list[str]) -> list[int]:
    return [*session.scalars(select(Text.row).where(Text.id.in_(ids)))]


def _all(session: Session, query: Query) -> list[int]:
    if not (query.search.strip() or query.class_ or query.state):
        raise UserError("Search for the texts to delete, or choose a class or a state first.")
    rows = rows_found(session, query.search, query.class_, query.state)
    if query.expected != len(rows):
        raise ConflictError(f"By now the search finds {len(rows)} texts, not {query.expected}; look again.")
    return rows
