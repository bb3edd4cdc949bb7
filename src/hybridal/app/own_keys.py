"""The keys that a person chose for functions of the page Label; they belong to the account and follow the person."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlalchemy.orm import Session

from hybridal.app.db.schema import Person
from hybridal.errors import UserError
from hybridal.sentences import translatable

CHANGEABLE_KEYS = frozenset(".sufc+=/;?")
"""The usual keys of the functions, by which they are known."""

_ALLOWED = re.compile(r"[^\s0-9]")  # digits are keys of classes


def own_keys_problem(keys: Mapping[str, str]) -> str:
    """Why keys cannot be used: they cannot be typed, are those of classes, or have two functions; "" if they can.

    Args:
        keys: The chosen key of each function that has one, by its usual key.

    Returns:
        A sentence for the person, or "".

    >>> own_keys_problem({"s": "x", "u": "-"})
    ''
    """
    if not CHANGEABLE_KEYS.issuperset(keys):
        return translatable("Only the keys of functions of the page Label can be changed; reload the page.")
    if not all(isinstance(key, str) and _ALLOWED.fullmatch(key) for key in keys.values()):
        return translatable("Type a letter or a sign; digits are keys of classes.")
    if len({*keys.values()}) < len(keys):
        return translatable("Two functions cannot have the same key; choose another one.")
    return ""


def set_own_keys(session: Session, person: Person, keys: Mapping[str, str]) -> None:
    """Store a person's keys instead of those they had.

    Args:
        session: A session that may write.
        person: Whose keys they are.
        keys: As in `own_keys_problem`; without any, all functions have their usual keys.

    Raises:
        UserError: One of them cannot be used.
    """
    if problem := own_keys_problem(keys):
        raise UserError(problem)
    session.get_one(Person, person.number).own_keys = {**keys}
