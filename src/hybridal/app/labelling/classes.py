"""The classes: they can be added, renamed, described, ordered and merged at any time, and no answer is lost."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, func, select
from sqlalchemy.orm import Session

from hybridal.app.db.connect import alone
from hybridal.app.db.schema import Class
from hybridal.app.errors import ConflictError, MissingError
from hybridal.errors import UserError

MOST = 1000
"""More classes than this are a column of texts that was taken for one of labels."""

LONGEST = 200

# As it is now: it may have been merged since this transaction last looked.
_OF_THIS_NAME = select(Class).where(Class.name == bindparam("name")).execution_options(populate_existing=True)


def active(session: Session) -> list[Class]:
    """The classes that can be given, in the order in which they are shown."""
    return [*session.scalars(select(Class).where(Class.became.is_(None)).order_by(Class.position, Class.number))]


def find(session: Session, name: str) -> Class:
    """The class of this name; the name of a class that was merged means what it became."""
    found = session.scalar(_OF_THIS_NAME, {"name": name.strip()})
    if found is None:
        raise MissingError(f"There is no class '{name:.40}'.")
    return session.get_one(Class, resolve(session, found.number))


def resolve(session: Session, number: int) -> int:
    """The number of what a class has become by now."""
    found = get(session, number)
    return number if found.became is None else resolve(session, found.became)


def get(session: Session, number: int) -> Class:
    """The class of this number."""
    found = session.get(Class, number)
    if found is None:
        raise MissingError(f"There is no class number {number}.")
    return found


def add(session: Session, names: Sequence[str]) -> list[Class]:
    """Adds classes behind those that are there; those of them that are there already stay as they are."""
    alone(session)
    last = session.scalar(select(func.max(Class.position)))
    position = 0 if last is None else last + 1
    for name in dict.fromkeys(map(checked, names)):
        if session.scalar(select(Class.number).where(Class.name == name)) is None:
            session.add(Class(name=name, position=position))
            position += 1
    session.flush()
    number = session.scalar(select(func.count()).select_from(Class)) or 0
    if number > MOST:
        raise UserError(f"{number} classes are more than {MOST}; is the column of the labels the right one?")
    return [find(session, name) for name in names]


def rename(session: Session, number: int, name: str) -> Class:
    """Another name for the same class."""
    alone(session)
    found, name = get(session, number), checked(name)
    other = session.scalar(select(Class).where(Class.name == name, Class.number != number))
    if other is not None and other.became is None:
        raise ConflictError(f"There is a class '{name:.40}' already; merge the two instead.")
    if other is not None:
        raise ConflictError(f"'{name:.40}' is the name of a class that was merged; choose another.")
    found.name = name
    return found


def describe(session: Session, number: int, description: str) -> Class:
    """What belongs into a class, for people and for an LLM."""
    found = get(session, number)
    found.description = description
    return found


def place(session: Session, number: int, position: int) -> Class:
    """Moves a class to a position among the active ones, from 0."""
    alone(session)
    found = get(session, number)
    others = [other for other in active(session) if other.number != number]
    others.insert(max(0, position), found)
    for i, other in enumerate(others):
        other.position = i
    return found


def checked(name: str) -> str:
    """A name that can be that of a class.

    >>> checked(" bug ")
    'bug'
    """
    name = name.strip()
    if not name or len(name) > LONGEST:
        raise UserError(f"A class needs a name of 1 to {LONGEST} characters.")
    return name
