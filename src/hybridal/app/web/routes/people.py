"""The people of the project."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import Field
from sqlalchemy import delete, func, select

from hybridal.app.db.schema import Lease, Login, Person, Standing
from hybridal.app.people import accounts
from hybridal.app.web.access import Opened, Owner
from hybridal.app.web.shapes import Done, Number, Shape, Words

router = APIRouter(prefix="/api/people")


class PersonShape(Shape):
    """Somebody who answers, and how much."""

    number: int
    name: str
    kind: str
    role: str
    active: bool
    labels: int
    skips: int


class People(Shape):
    """Everybody."""

    items: list[PersonShape]


class Change(Shape):
    """What shall be other of a person."""

    number: Number
    name: Words | None = Field(None, max_length=accounts.LONGEST)
    role: Literal["annotator", "reviewer", "owner"] | None = None
    active: bool | None = None


@router.get("")
def people(_: Owner, project: Opened) -> People:
    """Everybody who has a say, with what they have said."""
    said = select(Standing.person_number, func.count(Standing.class_number), func.count())
    with project.reads() as session:
        counts = {who: (n, all) for who, n, all in session.execute(said.group_by(Standing.person_number))}
        everybody = session.scalars(select(Person).order_by(Person.number)).all()
    shapes: list[PersonShape] = []
    for person in everybody:
        labels, answers = counts.get(person.number, (0, 0))
        facts = {name: getattr(person, name) for name in ("number", "name", "kind", "role", "active")}
        shapes.append(PersonShape(**facts, labels=labels, skips=answers - labels))
    return People(items=shapes)


@router.patch("")
def changed(change: Change, _: Owner, project: Opened, request: Request) -> Done:
    """Another name or role; or, not active any more, an end to all they have open."""
    with project.sessions.begin() as session:
        person = accounts.change(session, **change.model_dump())
        if not person.active:
            for table in (Login, Lease):
                session.execute(delete(table).where(table.person_number == person.number))
    request.app.state.guests.forget()
    return Done()
