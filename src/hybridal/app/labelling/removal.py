"""Delete and restore texts. Their annotations stay, and count again when they are restored."""

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
    """Delete texts: they are not served, shown, exported or learnt any more.

    Args:
        session: A session that may write.
        rows: The rows of the texts.
        at: The time of deletion, the same for all texts of one request.

    Returns:
        How many texts were deleted.
    """
    texts = lock_some(session, rows, Text.deleted.is_(None))
    here = [text.row for text in texts]
    votes = votes_by_text(session, here)
    update_consensus(session, [Change(text, [*votes[text.row].values()], [], 0) for text in texts])
    for table in (Lease, QueuedText, Prediction):
        session.execute(delete(table).where(table.text_row.in_(here)))
    session.execute(update(Text).where(Text.row.in_(here)).values(deleted=at, open=False))
    move_counts(session, Counter(texts=len(here)), Counter())
    return len(here)


def restore_texts(session: Session, rows: Sequence[int]) -> int:
    """Restore deleted texts with their annotations; return how many there were."""
    texts = lock_some(session, rows, Text.deleted.is_not(None))
    here = [text.row for text in texts]
    session.execute(update(Text).where(Text.row.in_(here)).values(deleted=None, open=True))
    votes = votes_by_text(session, here)
    after = [(text, [*votes[text.row].values()]) for text in texts]
    changes = [Change(text, [], some, max((vote.number for vote in some), default=0)) for text, some in after]
    update_consensus(session, changes)
    move_counts(session, Counter(), Counter(texts=len(here)))
    return len(here)


def in_parts(sessions: Sessions, act: Callable[[Session, Sequence[int]], int], rows: Sequence[int]) -> int:
    """Apply an action to many texts in short transactions, so that people can label meanwhile; return its total."""
    done = 0
    for part in chunks(rows):
        with sessions.begin() as session:
            done += act(session, part)
    return done


def lock_some(session: Session, rows: Sequence[int], *which: ColumnElement[bool]) -> Sequence[Text]:
    """Read the texts that fulfil the conditions, and lock them and the queue until the transaction ends."""
    exclusive(session)
    lock_texts(session, Text.row.in_(rows))
    some = select(Text).where(Text.row.in_(rows), *which).order_by(Text.row)
    return session.scalars(some.execution_options(populate_existing=True)).all()
