"""Split a class, or give it a new meaning: what such a change does to the classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError
from hybridal.app.db.connect import exclusive, lock_annotations
from hybridal.app.db.schema import Class, Person
from hybridal.app.labelling import classes
from hybridal.app.labelling.codebook import newest_version, recording
from hybridal.errors import UserError
from hybridal.sentences import Sentence, translatable

MAX_PARTS = 20


@dataclass(frozen=True)
class Part:
    """A class that another one is split into: a new one, or one that can be given."""

    name: str
    description: str = ""


def split(session: Session, person: Person | None, number: int, parts: Sequence[Part]) -> int:
    """Split a class; its labels stay until people look at them again.

    Args:
        session: A session that may write; annotations wait for its end.
        person: Who splits the class.
        number: The number of the class.
        parts: What it is split into. If the class itself is one of them, it goes on, with the description given here;
            otherwise it is archived, and the model no longer learns its labels.

    Returns:
        The version of the codebook that this makes.

    Raises:
        UserError: There are fewer than two parts, too many, or two of the same name.
        ConflictError: The class cannot be given, or a part is the name of one that cannot.
    """
    exclusive(session)
    lock_annotations(session)
    old = _given(session, number)
    names = [classes.checked(part.name) for part in parts]
    if not 2 <= len({*names}) == len(names) <= MAX_PARTS:
        raise UserError(Sentence("Split a class into 2 to {n} classes of different names.", n=MAX_PARTS))
    numbers: list[int] = []
    with recording(session, person, "split", number, numbers):
        for part, name in zip(parts, names, strict=True):
            is_new = all(one.name != name for one in classes.current(session))
            [found] = classes.add(session, [name])
            if found.name != name or found.archived:
                raise ConflictError(
                    Sentence("The class '{name}' is archived or was merged; choose another name.", name=name[:40])
                )
            if is_new:
                found.group, found.position = old.group, old.position
            if part.description.strip():
                classes.describe(session, found.number, part.description.strip())
            numbers.append(found.number)
        if number not in numbers:
            classes.archive(session, number, "out")
    return newest_version(session)


def redefine(
    session: Session, person: Person | None, number: int, description: str, examples: str | None = None
) -> int:
    """Give a class a new meaning; return the version of the codebook that this makes."""
    exclusive(session)
    lock_annotations(session)
    found = _given(session, number)
    if (found.description, found.examples) == (description.strip(), found.examples if examples is None else examples):
        raise UserError(translatable("The new definition is the same as the old one."))
    with recording(session, person, "redefine", number):
        classes.describe(session, number, description.strip(), examples)
    return newest_version(session)


def _given(session: Session, number: int) -> Class:
    """Read a class that people can give."""
    found = classes.in_use(session, number)
    if found.archived:
        raise ConflictError(Sentence("The class '{name}' is archived; restore it first.", name=found.name[:40]))
    return found
