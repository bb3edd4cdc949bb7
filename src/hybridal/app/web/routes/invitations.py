"""Invitations by link."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from sqlalchemy import select

from hybridal.app.db.schema import Invitation, Person
from hybridal.app.people import invitations
from hybridal.app.web.access import Opened, Owner
from hybridal.app.web.shapes import Done, Number, Shape

router = APIRouter(prefix="/api/invitations")


class InvitationShape(Shape):
    """An invitation, without its secret."""

    number: int
    role: str
    until: float
    used_by: str | None
    revoked: bool


class Invitations(Shape):
    """All of them, newest first."""

    items: list[InvitationShape]


class Role(Shape):
    """What the invited person may do."""

    role: Literal["annotator", "reviewer", "owner"]


class Link(Shape):
    """Where the invited person goes; it is told only once."""

    number: int
    path: str


@router.get("")
def listed(_: Owner, project: Opened) -> Invitations:
    """All invitations."""
    found = select(Invitation, Person.name).outerjoin(Person, Person.number == Invitation.used_by)
    with project.reads() as session:
        rows = session.execute(found.order_by(Invitation.number.desc()).limit(1000)).all()
    return Invitations(
        items=[
            InvitationShape(number=one.number, role=one.role, until=one.until, used_by=name, revoked=one.revoked)
            for one, name in rows
        ]
    )


@router.post("")
def invited(asked: Role, _: Owner, project: Opened) -> Link:
    """A new link for one person."""
    with project.sessions.begin() as session:
        made, token = invitations.invite(session, asked.role)
        return Link(number=made.number, path=f"/join/{token}")


@router.post("/{number}/revoke")
def revoked(number: Number, _: Owner, project: Opened) -> Done:
    """Makes a link worthless."""
    with project.sessions.begin() as session:
        invitations.revoke(session, number)
    return Done()
