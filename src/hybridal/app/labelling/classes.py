"""The classes: they can be added, renamed, described, ordered and merged at any time, and no annotation is lost."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, func, select, update
from sqlalchemy.orm import Session

from hybridal.app.db.connect import exclusive, lock_annotations
from hybridal.app.db.schema import Class, Consensus, Prediction, Text, Vote
from hybridal.app.errors import ConflictError, MissingError
from hybridal.app.labelling.consensus import lock_text, update_consensus, votes_on
from hybridal.errors import UserError

MOST_CLASSES = 1000
"""More classes than this are a column of texts that was taken for one of labels."""

LONGEST_NAME = 200

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
    exclusive(session)
    last = session.scalar(select(func.max(Class.position)))
    position = 0 if last is None else last + 1
    for name in dict.fromkeys(map(checked, names)):
        if session.scalar(select(Class.number).where(Class.name == name)) is None:
            session.add(Class(name=name, position=position))
            position += 1
    session.flush()
    number = session.scalar(select(func.count()).select_from(Class)) or 0
    if number > MOST_CLASSES:
        raise UserError(f"{number} classes are too many (the limit is {MOST_CLASSES}); is this the right label column?")
    return [find(session, name) for name in names]


def rename(session: Session, number: int, name: str) -> Class:
    """Another name for the same class."""
    exclusive(session)
    found, name = get(session, number), checked(name)
    other = session.scalar(select(Class).where(Class.name == name, Class.number != number))
    if other is not None and other.became is None:
        raise ConflictError(f"A class '{name:.40}' already exists; merge the two instead.")
    if other is not None:
        raise ConflictError(f"'{name:.40}' is the name of a class that was merged; choose another.")
    found.name = name
    return found


def describe(session: Session, number: int, description: str | None = None, examples: str | None = None) -> Class:
    """What belongs into a class, for people and for an LLM; None leaves it as it is."""
    found = get(session, number)
    found.description = found.description if description is None else description
    found.examples = found.examples if examples is None else examples
    return found


def examples_of(found: Class) -> list[str]:
    """The texts that stand for a class.

    >>> examples_of(Class(examples="It crashes.\\n\\n It hangs. "))
    ['It crashes.', 'It hangs.']
    """
    return [line.strip() for line in found.examples.splitlines() if line.strip()]


def place(session: Session, number: int, position: int) -> Class:
    """Moves a class to a position among the active ones, from 0."""
    exclusive(session)
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
    if not name or len(name) > LONGEST_NAME:
        raise UserError(f"A class needs a name of 1 to {LONGEST_NAME} characters.")
    return name


def merge(session: Session, number: int, into: int) -> Class:
    """Everything of class `number` is of class `into` from now on; people who differed only in this agree now."""
    exclusive(session)
    lock_annotations(session)
    gone, left = get(session, number), get(session, into)
    if gone is left or gone.became is not None or left.became is not None:
        raise ConflictError("Only two different active classes can be merged.")
    gone.became = left.number
    touched = _disputed(session, number)
    before = {text.row: [*votes_on(session, text).values()] for text in touched}
    for table in (Vote, Consensus, Prediction):
        session.execute(update(table).where(table.class_number == number).values(class_number=into))
    session.execute(update(Text).where(Text.suggestion == number).values(suggestion=into))
    session.flush()
    session.expire_all()
    for text in touched:
        after = [*votes_on(session, text).values()]
        update_consensus(session, text, before[text.row], after, max(said.number for said in after))
    return left


def _disputed(session: Session, number: int) -> list[Text]:
    """The texts that have answers of this class but no consensus, locked."""
    rows = session.scalars(
        select(Vote.text_row)
        .outerjoin(Consensus, Consensus.text_row == Vote.text_row)
        .where(Vote.class_number == number, Consensus.text_row.is_(None))
        .group_by(Vote.text_row)
        .having(func.count() > 0)
        .order_by(Vote.text_row)
    ).all()
    return [lock_text(session, row) for row in rows]
