"""Apply a changed rule for the consensus: at once to texts that are annotated, to all others a few at a time.

The progress is stored, so that the work continues after an interruption, and people can label meanwhile.
"""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.db.connect import exclusive, lock_annotations
from hybridal.app.db.schema import Person, Vote
from hybridal.app.labelling.consensus import Change, update_consensus, votes_by_text
from hybridal.app.labelling.removal import lock_some
from hybridal.app.project_settings import DEFAULTS, read, write

SETTLED = "settled"  # the setting that stores the last row


def begin_applying_rule(session: Session) -> None:
    """Begin to apply the current rule to all texts on which people disagree; `apply_rule_to_some` does the work."""
    exclusive(session)
    lock_annotations(session)  # later annotations use the new rule
    write(session, {SETTLED: 0})


def unsettled(session: Session) -> bool:
    """Whether texts may be left that the old rule settled."""
    return bool(read(session)[SETTLED] != DEFAULTS[SETTLED])


def apply_rule_to_some(session: Session, n: int) -> bool:
    """Apply the rule to the next n texts; return whether others may be left."""
    exclusive(session)
    if not unsettled(session):
        return False
    beyond = Vote.text_row > read(session)[SETTLED]
    of_people = select(Vote.text_row).join(Person).where(Person.kind == "person", beyond)
    differing = of_people.group_by(Vote.text_row).having(
        (func.count(Vote.class_number.distinct()) > 1) | (func.count(Vote.label_set.distinct()) > 1)
    )
    rows = session.scalars(differing.order_by(Vote.text_row).limit(n)).all()
    texts = lock_some(session, rows)
    votes = votes_by_text(session, rows)
    unchanged = [(text, [*votes[text.row].values()]) for text in texts]
    update_consensus(session, [Change(text, now, now, max(one.number for one in now)) for text, now in unchanged])
    write(session, {SETTLED: rows[-1] if rows else DEFAULTS[SETTLED]})
    return bool(rows)
