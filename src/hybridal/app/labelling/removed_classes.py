"""A class is deleted, or merged into another: at once nobody can give it, and its texts follow some at a time.

What is left to do is known from the database: whoever is cut off goes on later, and labelling goes on meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from sqlalchemy import case, delete, func, select, union, update
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError
from hybridal.app.db.connect import exclusive, lock_annotations
from hybridal.app.db.schema import Class, Consensus, Prediction, Vote
from hybridal.app.labelling.classes import current_classes, in_use, resolve
from hybridal.app.labelling.consensus import CastVote, Change, update_consensus, votes_by_text
from hybridal.app.labelling.removal import lock_some

_DELETED = Class.archived == "deleted"
_GONE = select(Class.number).where(_DELETED | Class.became.is_not(None))


def remove(session: Session, number: int) -> int:
    """Deletes a class: who gave it has said nothing, as far as anything counts. How many texts it was said of.

    It stays as a row whose name says so, which the record refers to; its old name is free. `follow` does the rest.
    """
    _let_nobody_annotate(session)
    found = in_use(session, number)
    merged = session.scalars(select(Class).where(Class.became.is_not(None))).all()
    for one in [found, *(one for one in merged if resolve(session, one.number) == number)]:
        one.name = _name_of_deleted(session, one.name)
        session.flush()
    found.archived = "deleted"
    said_of = select(func.count(Vote.text_row.distinct())).where(Vote.class_number == number)
    return session.scalar(said_of) or 0


def merge(session: Session, number: int, into: int) -> Class:
    """Everything of class `number` is of class `into` from now on; people who differed only in this agree then.

    It stays as a row that says what it became. `follow` does the rest.
    """
    _let_nobody_annotate(session)
    gone, left = in_use(session, number), in_use(session, into)
    if gone is left or left.archived:
        raise ConflictError("A class is merged into another one that can be given.")
    gone.became, gone.archived = left.number, ""
    session.flush()
    return left


def _let_nobody_annotate(session: Session) -> None:
    exclusive(session)
    lock_annotations(session)  # whoever annotates afterwards finds that the class is gone


def _name_of_deleted(session: Session, name: str) -> str:
    taken = {*session.scalars(select(Class.name))}
    names = (f"{name} (deleted{'' if n == 1 else f' {n}'})" for n in count(1))
    return next(one for one in names if one not in taken)


def rows_to_follow(session: Session) -> Sequence[int]:
    """The texts that still have to do with a class that is gone."""
    voted = select(Vote.text_row).where(Vote.class_number.in_(_GONE))
    predicted = select(Prediction.text_row).where(Prediction.class_number.in_(_GONE))
    return session.scalars(union(voted, predicted).order_by("text_row")).all()


def follow(session: Session, rows: Sequence[int]) -> None:
    """Takes deleted classes off some texts, and puts what others became in the place of those."""
    texts = lock_some(session, rows)
    now, deleted = current_classes(session), {*session.scalars(select(Class.number).where(_DELETED))}
    changes, votes = [], votes_by_text(session, rows)
    settled = {*session.scalars(select(Consensus.text_row).where(Consensus.text_row.in_(rows)))}
    for text in texts:
        said = [*votes[text.row].values()]
        renamed = [_renamed(vote, now) for vote in said]
        # Where there is a consensus, it only gets another name, which is nothing new to learn.
        before = renamed if text.row in settled else said
        after = [vote for vote in renamed if vote.class_number not in deleted]
        if before != after:
            changes.append(Change(text, before, after, max(vote.number for vote in said)))
    merged = {number: end for number, end in now.items() if number != end}
    for table in (Vote, Consensus, Prediction):
        here = table.text_row.in_(rows)
        if merged:
            became = case(merged, value=table.class_number)
            session.execute(update(table).where(here, table.class_number.in_(merged)).values(class_number=became))
        if table is not Consensus:
            session.execute(delete(table).where(here, table.class_number.in_(deleted)))
    update_consensus(session, changes)


def _renamed(vote: CastVote, now: dict[int, int]) -> CastVote:
    return vote if vote.class_number is None else replace(vote, class_number=now[vote.class_number])
