"""Delete a class, or merge it into another: it is unavailable at once, and its texts are updated a few at a time.

The remaining work follows from the database, so it continues after an interruption, and people can label meanwhile.
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
_GONE = select(Class.number).where(_DELETED | Class.merged_into.is_not(None))


def remove(session: Session, number: int) -> int:
    """Delete a class: its labels no longer count. Return how many texts had it.

    Its row stays for the annotations that refer to it, under a name that marks it as deleted, so that the old name is
    free. `follow` updates the texts.
    """
    _block_annotations(session)
    found = in_use(session, number)
    merged = session.scalars(select(Class).where(Class.merged_into.is_not(None))).all()
    for one in [found, *(one for one in merged if resolve(session, one.number) == number)]:
        one.name = _name_of_deleted(session, one.name)
        session.flush()
    found.archived = "deleted"
    labelled = select(func.count(Vote.text_row.distinct())).where(Vote.class_number == number)
    return session.scalar(labelled) or 0


def merge(session: Session, number: int, into: int) -> Class:
    """Merge class `number` into class `into`; people who differed only in these classes agree then.

    Its row stays, with the class that it was merged into. `follow` updates the texts.
    """
    _block_annotations(session)
    gone, left = in_use(session, number), in_use(session, into)
    if gone is left or left.archived:
        raise ConflictError("A class is merged into another one that can be given.")
    gone.merged_into, gone.archived = left.number, ""
    session.flush()
    return left


def _block_annotations(session: Session) -> None:
    exclusive(session)
    lock_annotations(session)  # later annotations find that the class is gone


def _name_of_deleted(session: Session, name: str) -> str:
    taken = {*session.scalars(select(Class.name))}
    names = (f"{name} (deleted{'' if n == 1 else f' {n}'})" for n in count(1))
    return next(one for one in names if one not in taken)


def rows_to_follow(session: Session) -> Sequence[int]:
    """The texts with a vote for, or a prediction of, a class that is gone."""
    voted = select(Vote.text_row).where(Vote.class_number.in_(_GONE))
    predicted = select(Prediction.text_row).where(Prediction.class_number.in_(_GONE))
    return session.scalars(union(voted, predicted).order_by("text_row")).all()


def follow(session: Session, rows: Sequence[int]) -> None:
    """Remove deleted classes from some texts, and replace merged ones."""
    texts = lock_some(session, rows)
    now, deleted = current_classes(session), {*session.scalars(select(Class.number).where(_DELETED))}
    changes, votes = [], votes_by_text(session, rows)
    settled = {*session.scalars(select(Consensus.text_row).where(Consensus.text_row.in_(rows)))}
    for text in texts:
        old = [*votes[text.row].values()]
        renamed = [_renamed(vote, now) for vote in old]
        # An existing consensus is only renamed, so it must not count as a new label.
        before = renamed if text.row in settled else old
        after = [vote for vote in renamed if vote.class_number not in deleted]
        if before != after:
            changes.append(Change(text, before, after, max(vote.number for vote in old)))
    merged = {number: end for number, end in now.items() if number != end}
    for table in (Vote, Consensus, Prediction):
        here = table.text_row.in_(rows)
        if merged:
            merged_into = case(merged, value=table.class_number)
            session.execute(update(table).where(here, table.class_number.in_(merged)).values(class_number=merged_into))
        if table is not Consensus:
            session.execute(delete(table).where(here, table.class_number.in_(deleted)))
    update_consensus(session, changes)


def _renamed(vote: CastVote, now: dict[int, int]) -> CastVote:
    return vote if vote.class_number is None else replace(vote, class_number=now[vote.class_number])
