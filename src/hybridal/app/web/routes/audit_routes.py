"""Routes for the audit log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import StreamingResponse

from hybridal.app.audit_log import Area, read_log
from hybridal.app.db.connect import Sessions
from hybridal.app.exchange.table_files import csv_parts, escape_formula, iso_time
from hybridal.app.web.auth import CurrentProject, Owner
from hybridal.app.web.project_threads import Router, parts_in_thread
from hybridal.app.web.schemas import Schema
from hybridal.system.files import strict_json

router = Router(prefix="/api")

ENTRIES_PER_PAGE = 100
_ROWS_PER_QUERY = 500
_COLUMNS = ("at", "person", "area", "action", "details")
_CSV = {"text/csv": {"schema": {"type": "string", "format": "binary"}}}


class AuditSchema(Schema):
    """An entry of the audit log; in `details`, a list of two is a value before and after."""

    number: int
    at: float
    person: str | None
    area: str
    action: str
    details: dict[str, Any]


class AuditPage(Schema):
    """Entries of the audit log, the newest first; `next` is the `before` of the following page."""

    items: list[AuditSchema]
    next: int | None


@router.get("/audit")
def get_audit_log(
    _: Owner,
    project: CurrentProject,
    before: Annotated[int | None, Query(ge=1, le=2**53, description="Only older entries.")] = None,
    area: Area | None = None,
) -> AuditPage:
    """Changes of settings, classes and people, and exports, the newest first."""
    with project.reads() as session:
        found = read_log(session, ENTRIES_PER_PAGE + 1, before, area)
    items = [
        AuditSchema(number=one.number, at=one.at, person=name, area=one.area, action=one.action, details=one.details)
        for one, name in found[:ENTRIES_PER_PAGE]
    ]
    return AuditPage(items=items, next=items[-1].number if len(found) > ENTRIES_PER_PAGE else None)


@router.get(
    "/audit.csv",
    response_class=StreamingResponse,
    responses={200: {"content": _CSV, "description": "The file."}},
)
def audit_file(_: Owner, project: CurrentProject) -> StreamingResponse:
    """The whole audit log for a spreadsheet, the newest entries first; cells like formulas start with `'`."""
    parts = (part.encode() for part in csv_parts(_COLUMNS, _rows(project.reads), escape_formula))
    headers = {"Content-Disposition": 'attachment; filename="audit.csv"'}
    return StreamingResponse(parts_in_thread(parts), media_type="text/csv; charset=utf-8", headers=headers)


def _rows(sessions: Sessions) -> Iterator[dict[str, Any]]:
    last: int | None = None
    while True:
        with sessions() as session:
            found = read_log(session, _ROWS_PER_QUERY, last)
        for one, name in found:
            details = strict_json(one.details)
            yield {"at": iso_time(one.at), "person": name, "area": one.area, "action": one.action, "details": details}
        if len(found) < _ROWS_PER_QUERY:
            return
        last = found[-1][0].number
