"""The people of a project, and the two that are none: the file, and what an LLM is called."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Person
from hybridal.app.errors import ConflictError, MissingError
from hybridal.errors import UserError

ROLES = ("annotator", "reviewer", "owner")
"""Each may do what those before it may."""

FILE = "(file)"
LONGEST = 80


def may(person: Person, role: str) -> bool:
    """Whether somebody may do what this role may.

    >>> may(Person(role="reviewer"), "annotator"), may(Person(role="reviewer"), "owner")
    (True, False)
    """
    return ROLES.index(person.role) >= ROLES.index(role)


def the_file(session: Session) -> Person:
    """Whose answers the labels are that came with the texts."""
    return machine(session, FILE, "file")


def machine(session: Session, name: str, kind: str) -> Person:
    """An annotator that is no person, made when it first answers."""
    found = session.scalar(select(Person).where(Person.name == name))
    if found is None:
        found = Person(name=name, kind=kind)
        session.add(found)
        session.flush()
    return found


def the_owner(session: Session) -> Person:
    """Who began the project, and stays its owner."""
    return session.scalars(select(Person).where(Person.kind == "person").order_by(Person.number).limit(1)).one()


def add(session: Session, name: str, role: str, password: str | None = None) -> Person:
    """A new person; `password` is hashed already."""
    name = checked(name)
    _check_free(session, name)
    person = Person(name=name, role=role, password=password)
    session.add(person)
    session.flush()
    return person


def change(
    session: Session, number: int, *, name: str | None = None, role: str | None = None, active: bool | None = None
) -> Person:
    """Another name or role for a person, or an end to their coming in; what they answered stays."""
    person = session.get(Person, number)
    if person is None:
        raise MissingError(f"There is no person number {number}.")
    began = person.number == the_owner(session).number
    if person.kind != "person" or (began and (role not in (None, "owner") or active is False)):
        raise ConflictError("Who began the project stays its owner, and a machine has no role.")
    if name is not None and checked(name) != person.name:
        _check_free(session, checked(name), person.number)
        person.name = checked(name)
    person.role = role or person.role
    person.active = person.active if active is None else active
    return person


def _check_free(session: Session, name: str, but: int = 0) -> None:
    same = select(Person.number).where(func.lower(Person.name) == name.lower(), Person.number != but)
    if session.scalar(same) is not None:
        raise ConflictError(f"There is somebody called '{name}' already; choose another name.")


def checked(name: str) -> str:
    """A name that a person can have; those in brackets are of machines.

    >>> checked(" Ada ")
    'Ada'
    """
    name = " ".join(name.split())
    if not name or len(name) > LONGEST or name.startswith("(") or not name.isprintable():
        raise UserError(f"A name needs 1 to {LONGEST} ordinary characters, and does not begin with a bracket.")
    return name
