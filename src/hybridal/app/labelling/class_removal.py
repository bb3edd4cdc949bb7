"""A class is deleted: at once nobody can give it, and its labels are taken off their texts some at a time.

What is left to do is known from the database: whoever is cut off goes on later, and labelling goes on meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from sqlalchemy import delete, func, select, union
from sqlalchemy.orm import Session

from hybridal.app.db.connect import exclusive, lock_annotations
from hybridal.app.db.schema import Class, Prediction, Vote
from hybridal.app.labelling.classes import in_use, resolve
from hybridal.app.labelling.consensus import Change, update_consensus, votes_by_text
from hybridal.app.labelling.removal import lock_some

_DELETED = select(Class.number).where(Class.archived == "deleted")


def remove(session: Session, number: int) -> int:
    """Deletes a class: who gave it has said nothing, as far as anything counts. How many texts it was said of.

    It stays as a row whose name says so, which the record refers to; its old name is free. `unlabel` does the rest.
    """
    exclusive(session)
    lock_annotations(session)  # whoever annotates from now on finds that it is gone
    found = in_use(session, number)
    merged = session.scalars(select(Class).where(Class.became.is_not(None))).all()
    for one in [found, *(one for one in merged if resolve(session, one.number) == number)]:
        one.name = _name_of_deleted(session, one.name)
        session.flush()
    found.archived = "deleted"
    said_of = select(func.count(Vote.text_row.distinct())).where(Vote.class_number == number)
    return session.scalar(said_of) or 0


def _name_of_deleted(session: Session, name: str) -> str:
    taken = {*session.scalars(select(Class.name))}
    names = (f"{name} (deleted{'' if n == 1 else f' {n}'})" for n in count(1))
    return next(one for one in names if one not in taken)


def rows_to_unlabel(session: Session) -> Sequence[int]:
    """The texts that still have to do with a deleted class."""
    voted = select(Vote.text_row).where(Vote.class_number.in_(_DELETED))
    predicted = select(Prediction.text_row).where(Prediction.class_number.in_(_DELETED))
    return session.scalars(union(voted, predicted)).all()


def unlabel(session: Session, rows: Sequence[int]) -> None:
    """Takes deleted classes off some texts."""
    texts, gone = lock_some(session, rows), {*session.scalars(_DELETED)}
    before = votes_by_text(session, rows)
    changes = []
    for text in texts:
        said = [*before[text.row].values()]
        left = [vote for vote in said if vote.class_number not in gone]
        if left != said:
            changes.append(Change(text, said, left, max(vote.number for vote in said)))
    session.execute(delete(Vote).where(Vote.text_row.in_(rows), Vote.class_number.in_(gone)))
    session.execute(delete(Prediction).where(Prediction.text_row.in_(rows), Prediction.class_number.in_(gone)))
    update_consensus(session, changes)
