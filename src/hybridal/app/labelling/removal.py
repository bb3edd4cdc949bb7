"""Texts are deleted and brought back. What was said of them stays in the record, and counts again when they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from sqlalchemy import ColumnElement, delete, select, update
from sqlalchemy.orm import Session

from hybridal.app.db.connect import Sessions, exclusive
from hybridal.app.db.schema import Lease, Prediction, QueuedText, Text
from hybridal.app.labelling.consensus import Change, lock_texts, move_counts, update_consensus, votes_by_text
from hybridal.app.labelling.texts import chunks


def delete_texts(session: Session, rows: Sequence[int], at: float) -> int:
    """Deletes texts: nobody is asked for them, and nothing that is shown, exported or learnt has them in it.

    `at` is the time that they are deleted by, the same for all that one person deletes at once. Returns how many there
    were.
    """
    texts = lock_some(session, rows, Text.deleted.is_(None))
    here = [text.row for text in texts]
    said = votes_by_text(session, here)
    update_consensus(session, [Change(text, [*said[text.row].values()], [], 0) for text in texts])
    for table in (Lease, QueuedText, Prediction):
        session.execute(delete(table).where(table.text_row.in_(here)))
    session.execute(update(Text).where(Text.row.in_(here)).values(deleted=at, open=False))
    move_counts(session, Counter(texts=len(here)), Counter())
    return len(here)


def restore_texts(session: Session, rows: Sequence[int]) -> int:
    """Brings deleted texts back with all that was said of them; how many there were."""
    texts = lock_some(session, rows, Text.deleted.is_not(None))
    here = [text.row for text in texts]
    session.execute(update(Text).where(Text.row.in_(here)).values(deleted=None, open=True))
    said = votes_by_text(session, here)
    votes = [(text, [*said[text.row].values()]) for text in texts]
    newest = [Change(text, [], after, max((vote.number for vote in after), default=0)) for text, after in votes]
    update_consensus(session, newest)
    move_counts(session, Counter(), Counter(texts=len(here)))
    return len(here)


def in_parts(sessions: Sessions, act: Callable[[Session, Sequence[int]], int], rows: Sequence[int]) -> int:
    """Does it with many texts while people label, in short transactions; how many it was done with."""
    done = 0
    for part in chunks(rows):
        with sessions.begin() as session:
            done += act(session, part)
    return done


def lock_some(session: Session, rows: Sequence[int], *which: ColumnElement[bool]) -> Sequence[Text]:
    """Those of some texts for which this holds; nobody is given or answers one of them until this transaction ends."""
    exclusive(session)
    lock_texts(session, Text.row.in_(rows))
    some = select(Text).where(Text.row.in_(rows), *which).order_by(Text.row)
    return session.scalars(some.execution_options(populate_existing=True)).all()
