"""Which of the texts that come in are there already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Text
from hybridal.app.db.words import clean, digest
from hybridal.app.errors import ConflictError

Row = tuple[str, str, str | None]
"""An id, a text, and its label if it has one."""

_AT_ONCE = 500


def new_rows(session: Session, rows: Sequence[Row], numbered: bool = False) -> list[Row]:
    """The rows that are not there yet. An id is that of one text.

    `numbered` rows have only row numbers for ids: they are known by their text, and count on from those that are there.
    """
    given = [(clean(id), clean(body), label) for id, body, label in rows]
    there = session.scalar(select(Text.row).limit(1)) is not None
    return _count_on(session, given) if numbered and there else _unknown(session, given)


def _unknown(session: Session, rows: Sequence[Row]) -> list[Row]:
    bodies: dict[str, str] = {}
    for part in chunks(rows):
        found = session.execute(select(Text.id, Text.body).where(Text.id.in_([id for id, _, _ in part])))
        bodies.update((id, body) for id, body in found)
    new: list[Row] = []
    for id, body, label in rows:
        if id not in bodies:
            new.append((id, body, label))
        if bodies.setdefault(id, body) != body:
            raise ConflictError(f"The id '{id:.40}' is that of another text already; give this one an id of its own.")
    return new


def _count_on(session: Session, rows: Sequence[Row]) -> list[Row]:
    digests: dict[str, str] = dict(session.execute(select(Text.id, Text.digest)).all())
    ids, known = set(digests), set(digests.values())
    new = [row for row in rows if digest(row[1]) not in known]
    free = (str(number) for number in count(len(ids) + 1) if str(number) not in ids)
    return [(next(free), body, label) for _, body, label in new]


def chunks(items: Sequence[Any], size: int = _AT_ONCE) -> Iterator[Sequence[Any]]:
    """The items, some at a time.

    >>> [len(part) for part in chunks(range(1200))]
    [500, 500, 200]
    """
    for start in range(0, len(items), size):
        yield items[start : start + size]
