"""Links that let one person in each."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.connect import alone
from hybridal.app.db.schema import Invitation, Person, now
from hybridal.app.errors import ForbiddenError, MissingError
from hybridal.app.people import accounts
from hybridal.app.people.tokens import digest, draw

DAYS = 14


def invite(session: Session, role: str) -> tuple[Invitation, str]:
    """A new invitation, and the secret of its link, which is told only now."""
    token = draw()
    made = Invitation(token=digest(token), role=role, until=now() + DAYS * 86_400)
    session.add(made)
    session.flush()
    return made, token


def check(session: Session, token: str) -> Invitation:
    """The invitation of a link, if it is still good."""
    found = session.scalar(select(Invitation).where(Invitation.token == digest(token)))
    if found is None or found.revoked or found.used_by is not None or found.until <= now():
        raise ForbiddenError("This invitation is not valid, or not any more; ask for a new one.")
    return found


def accept(session: Session, token: str, name: str, password: str) -> Person:
    """The person that an invitation makes; `password` is hashed already."""
    alone(session)  # a link that is sent twice at the same moment lets one person in
    found = check(session, token)
    person = accounts.add(session, name, found.role, password)
    found.used_by = person.number
    return person


def revoke(session: Session, number: int) -> None:
    """Makes a link worthless; who came in by it stays."""
    found = session.get(Invitation, number)
    if found is None:
        raise MissingError(f"There is no invitation number {number}.")
    found.revoked = True
