"""Delete a class, or merge it into another: it is unavailable at once, and its texts are updated a few at a time.

The remaining work follows from the database, so it continues after an interruption, and people can label meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from itertools import count

from sqlalchemy import bindparam, case, delete, func, select, union, update
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError
from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.connect import exclusive, lock_annotations
from hybridal.app.db.schema import Class, Consensus, LabelSet, LabelSetClass, Prediction, Vote
from hybridal.app.labelling.classes import current_classes, deleted_classes, in_use, resolve
from hybridal.app.labelling.codebook import recording
from hybridal.app.labelling.consensus import CastVote, Change, update_consensus, votes_by_text
from hybridal.app.labelling.removal import lock_some
from hybridal.app.labelling.stored_class_sets import store_sets
from hybridal.sentences import translatable

_GONE = select(Class.number).where((Class.archived == "deleted") | Class.merged_into.is_not(None))


def remove(session: Session, number: int) -> int:
    """Delete a class: its labels no longer count. Return how many texts had it.

    Its row stays for the annotations that refer to it, under a name that marks it as deleted, so that the old name is
    free. `update_texts` updates the texts.
    """
    _block_annotations(session)
    found = in_use(session, number)
    merged = session.scalars(select(Class).where(Class.merged_into.is_not(None))).all()
    with recording(session):
        for one in [found, *(one for one in merged if resolve(session, one.number) == number)]:
            one.name = _name_of_deleted(session, one.name)
            session.flush()
        found.archived = "deleted"
    sets = select(LabelSetClass.set_number).where(LabelSetClass.class_number == number, LabelSetClass.present.is_(True))
    has_class = (Vote.class_number == number) | Vote.label_set.in_(sets)
    labelled = select(func.count(Vote.text_row.distinct())).where(has_class)
    return session.scalar(labelled) or 0


def merge(session: Session, number: int, into: int) -> Class:
    """Merge class `number` into class `into`; people who differed only in these classes agree then.

    Its row stays, with the class that it was merged into. `update_texts` updates the texts.
    """
    _block_annotations(session)
    gone, left = in_use(session, number), in_use(session, into)
    if gone is left or left.archived:
        raise ConflictError(translatable("A class is merged into another one that can be given."))
    with recording(session):
        gone.merged_into, gone.archived = left.number, ""
    return left


def _block_annotations(session: Session) -> None:
    exclusive(session)
    lock_annotations(session)  # later annotations find that the class is gone


def _name_of_deleted(session: Session, name: str) -> str:
    taken = {*session.scalars(select(Class.name))}
    names = (f"{name} (deleted{'' if n == 1 else f' {n}'})" for n in count(1))
    return next(one for one in names if one not in taken)


def rows_to_update(session: Session) -> Sequence[int]:
    """The texts with a vote for, or a prediction of, a class that is gone."""
    sets = select(LabelSetClass.set_number).where(LabelSetClass.class_number.in_(_GONE))
    found = (
        select(table.text_row).where(condition)
        for table in (Vote, Prediction)
        for condition in (table.class_number.in_(_GONE), table.label_set.in_(sets))
    )
    return session.scalars(union(*found).order_by("text_row")).all()


def update_texts(session: Session, rows: Sequence[int]) -> None:
    """Remove deleted classes from some texts, and replace merged ones."""
    texts = lock_some(session, rows)
    now, deleted = current_classes(session), deleted_classes(session)
    changes, votes = [], votes_by_text(session, rows)
    settled = {*session.scalars(select(Consensus.text_row).where(Consensus.text_row.in_(rows)))}
    for text in texts:
        old = [*votes[text.row].values()]
        renamed = [_renamed(vote, now, deleted) for vote in old]
        # An existing consensus is only renamed, so it must not count as a new label.
        before = renamed if text.row in settled and not _has_sets(old) else old
        after = [vote for vote in renamed if vote.label not in deleted and not _is_empty(vote)]
        if before != after:
            changes.append(Change(text, before, after, max(vote.number for vote in old)))
    _update_sets(session, votes, now, deleted)
    merged = {number: end for number, end in now.items() if number != end}
    for table in (Vote, Consensus, Prediction):
        here = table.text_row.in_(rows)
        if merged:
            merged_into = case(merged, value=table.class_number)
            session.execute(update(table).where(here, table.class_number.in_(merged)).values(class_number=merged_into))
        if table is not Consensus:
            session.execute(delete(table).where(here, table.class_number.in_(deleted)))
    update_consensus(session, changes)


_SET_OF_VOTE = update(Vote).where(Vote.text_row == bindparam("row"), Vote.person_number == bindparam("person"))
_SET_OF_VOTE = _SET_OF_VOTE.values(label_set=bindparam("of_set"), partial=bindparam("is_partial"))
_REMOVE_VOTE = delete(Vote).where(Vote.text_row == bindparam("row"), Vote.person_number == bindparam("person"))


def _update_sets(
    session: Session, votes: Mapping[int, Mapping[int, CastVote]], now: Mapping[int, int], deleted: Set[int]
) -> None:
    """Replace the sets of votes and predictions; the consensus follows from the votes."""
    changed: dict[tuple[int, int], ClassSet] = {}
    empty: list[dict[str, int]] = []
    for row, by_person in votes.items():
        for person, vote in by_person.items():
            renamed = _renamed(vote, now, deleted)
            if renamed != vote and isinstance(renamed.label, ClassSet):
                changed[row, person] = renamed.label
            if _is_empty(renamed):
                empty.append({"row": row, "person": person})
    predicted = select(LabelSet.number, LabelSet.classes).join(Prediction, Prediction.label_set == LabelSet.number)
    old: dict[int, ClassSet] = dict(session.execute(predicted.where(Prediction.text_row.in_(votes)).distinct()).all())
    new = {number: left for number, one in old.items() if (left := one.renamed(now, deleted)) != one}
    numbers = store_sets(session, [*new.values(), *changed.values()])
    if changed:
        rows = [
            {"row": row, "person": person, "of_set": numbers[label], "is_partial": not label.is_whole}
            for (row, person), label in changed.items()
        ]
        session.connection().execute(_SET_OF_VOTE, rows)
    if empty:
        session.connection().execute(_REMOVE_VOTE, empty)
    if new:
        follows = case({number: numbers[one] for number, one in new.items()}, value=Prediction.label_set)
        there = (Prediction.text_row.in_(votes), Prediction.label_set.in_(new))
        session.execute(update(Prediction).where(*there).values(label_set=follows))


def _renamed(vote: CastVote, now: Mapping[int, int], deleted: Set[int]) -> CastVote:
    """A vote with merged classes replaced, and deleted ones left out of a set."""
    if vote.label is None:
        return vote
    label = vote.label.renamed(now, deleted) if isinstance(vote.label, ClassSet) else now[vote.label]
    return replace(vote, label=label)


def _has_sets(votes: Sequence[CastVote]) -> bool:
    return any(isinstance(vote.label, ClassSet) for vote in votes)


def _is_empty(vote: CastVote) -> bool:
    """Whether nothing is left of a partial set."""
    return isinstance(vote.label, ClassSet) and vote.label.absent is not None and not vote.label.classes
