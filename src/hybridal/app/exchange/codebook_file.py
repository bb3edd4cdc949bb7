"""The codebook as a file: the classes, and what each version changed."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import CodebookVersion, Person
from hybridal.app.exchange.table_files import iso_time
from hybridal.app.labelling.classes import current
from hybridal.app.labelling.codebook import newest_version

_FIELDS = ("number", "name", "description", "examples", "group", "archived")


def exported_codebook(session: Session) -> dict[str, Any]:
    """The classes that labels can have, and all versions, the oldest first; `changes` lead from one to the next."""
    versions = select(CodebookVersion, Person.name).outerjoin(Person, Person.number == CodebookVersion.person_number)
    return {
        "version": newest_version(session),
        "classes": [{name: getattr(one, name) for name in _FIELDS} for one in current(session)],
        "versions": [
            {
                "number": one.number,
                "at": iso_time(one.made),
                "person": person,
                "operation": one.operation,
                "class": one.class_number,
                "parts": one.parts,
                "changes": one.changes,
            }
            for one, person in session.execute(versions.order_by(CodebookVersion.number))
        ],
    }
