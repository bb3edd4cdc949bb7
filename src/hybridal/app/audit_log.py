"""The audit log: who changed settings, classes and people, and who exported data, and when."""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import AuditEntry, Person
from hybridal.system.files import strict_json

Area = Literal["settings", "classes", "people", "exports"]
LONGEST_VALUE = 200


def log_action(session: Session, person: Person | None, area: Area, action: str, /, **details: Any) -> None:
    """Add an entry in the transaction of the change that it is about, so that there is none without the other.

    Args:
        session: A session that may write.
        person: Who did it; None if it is not known.
        area: What it is about.
        action: What was done, in a word.
        details: What it was done to; a list of two is a value before and after. No secrets.
    """
    number = None if person is None else person.number
    session.add(AuditEntry(person_number=number, area=area, action=action, details=details))


def shortened(value: Any) -> Any:
    """A value for the log; of a long one only the beginning, as a text.

    >>> shortened(0.1), len(shortened("x" * 1000)), shortened({"name": 1})
    (0.1, 202, {'name': 1})
    """
    words = value if isinstance(value, str) else strict_json(value)
    return value if len(words) <= LONGEST_VALUE else words[:LONGEST_VALUE] + " …"


def read_log(
    session: Session, n: int, before: int | None = None, area: Area | None = None
) -> list[tuple[AuditEntry, str | None]]:
    """Read up to n entries with the name of their person, the newest first.

    Args:
        session: A session of the project.
        n: How many at most.
        before: Only entries older than the one of this number.
        area: Only entries of this area.
    """
    found = select(AuditEntry, Person.name).outerjoin(Person, Person.number == AuditEntry.person_number)
    if before is not None:
        found = found.where(AuditEntry.number < before)
    if area is not None:
        found = found.where(AuditEntry.area == area)
    rows = session.execute(found.order_by(AuditEntry.number.desc()).limit(n))
    return [(entry, name) for entry, name in rows]
