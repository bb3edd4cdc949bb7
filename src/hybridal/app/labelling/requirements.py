"""What people disagree on is settled by another rule: at once where somebody annotates, and elsewhere some at a time.

How far it has come is kept: whoever is cut off goes on later, and labelling goes on meanwhile.
"""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.db.connect import exclusive, lock_annotations
from hybridal.app.db.schema import Person, Vote
from hybridal.app.labelling.consensus import Change, update_consensus, votes_by_text
from hybridal.app.labelling.removal import lock_some
from hybridal.app.project_settings import DEFAULTS, read, write

SETTLED = "settled"  # the setting that says up to which row it has come


def settle_again(session: Session) -> None:
    """Has all texts on which people differ settled by the rule that is decided now; `settle_some` does it."""
    exclusive(session)
    lock_annotations(session)  # whoever annotates afterwards knows the rule
    write(session, {SETTLED: 0})


def unsettled(session: Session) -> bool:
    """Whether texts may be left that another rule settled."""
    return bool(read(session)[SETTLED] != DEFAULTS[SETTLED])


def settle_some(session: Session, n: int) -> bool:
    """Settles the next texts; whether others may be left."""
    exclusive(session)
    if not unsettled(session):
        return False
    beyond = Vote.text_row > read(session)[SETTLED]
    of_people = select(Vote.text_row).join(Person).where(Person.kind == "person", beyond)
    differing = of_people.group_by(Vote.text_row).having(func.count(Vote.class_number.distinct()) > 1)
    rows = session.scalars(differing.order_by(Vote.text_row).limit(n)).all()
    texts = lock_some(session, rows)
    said = votes_by_text(session, rows)
    votes = [(text, [*said[text.row].values()]) for text in texts]
    update_consensus(session, [Change(text, now, now, max(one.number for one in now)) for text, now in votes])
    write(session, {SETTLED: rows[-1] if rows else DEFAULTS[SETTLED]})
    return bool(rows)
