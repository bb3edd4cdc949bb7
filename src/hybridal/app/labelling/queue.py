"""Who gets which text next. Nobody gets a text that is in somebody else's hands, unless more opinions are wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, func, literal_column, select, update
from sqlalchemy.orm import Session

from hybridal.app.db.connect import alone
from hybridal.app.db.schema import Lease, Person, Queued, Standing, Tally, Text, now
from hybridal.app.labelling.split import due
from hybridal.app.settings import read

_ZERO: ColumnElement[int] = literal_column("0")  # a bound 0 would hide from SQLite that an index is made for this

_AT_ONCE = 50


def take(session: Session, person: Person, n: int) -> list[Text]:
    """Up to n texts for this person to label, theirs for a while: first those that they have already."""
    # Two who ask at the same moment are served one after the other.
    alone(session)
    settings, time = read(session), now()
    session.execute(delete(Lease).where(Lease.until <= time))
    texts = _in_hand(session, person, n, time, settings["lease_seconds"])
    for place, text in enumerate(_next(session, person, n - len(texts), settings)):
        # A moment later each, so that they come in the same order when they are asked for again.
        until = time + settings["lease_seconds"] + place / 1000
        session.add(Lease(text_row=text.row, person_number=person.number, until=until))
        texts.append(text)
    session.flush()
    return texts


def _in_hand(session: Session, person: Person, n: int, time: float, seconds: float) -> list[Text]:
    """The texts that they have; they keep them for longer if half of the time is over."""
    mine = select(Text, Lease.until).join(Lease).where(Lease.person_number == person.number, Text.open)
    held = session.execute(mine.order_by(Lease.until, Lease.text_row).limit(n)).all()
    if held and held[0].until < time + seconds / 2:
        theirs = Lease.person_number == person.number
        session.execute(update(Lease).where(theirs).values(until=Lease.until + seconds / 2))
    return [text for text, _ in held]


def give_back(session: Session, person: Person, text: Text) -> None:
    """Puts a text into somebody's hands before all others that they have."""
    seconds = read(session)["lease_seconds"]
    soonest = session.scalar(select(func.min(Lease.until)).where(Lease.person_number == person.number))
    until = now() + seconds if soonest is None else soonest - 0.001
    session.add(Lease(text_row=text.row, person_number=person.number, until=until))


def _next(session: Session, person: Person, n: int, settings: Mapping[str, Any]) -> list[Text]:
    splits = due(n, *_done(session), settings["validation_first"], settings["validation_share"])
    supply = {"validation": _validation(session, person, n), "pool": _pool(session, person, n)}
    texts: list[Text] = []
    taken: set[int] = set()
    for split in splits:
        # Where one of the two has run dry, the other goes on.
        for source in (split, "pool", "validation"):
            if text := next((text for text in supply[source] if text.row not in taken), None):
                texts.append(text)
                taken.add(text.row)
                break
    return texts


def _done(session: Session) -> tuple[int, int]:
    """How many texts of validation and of the pool are labelled or in somebody's hands."""
    labelled = session.execute(select(Tally.validation, Tally.pool)).one()
    leased = select(Text.split).where(Text.row.in_(select(Lease.text_row)), Text.answered == 0)
    hands = Counter(session.scalars(leased))
    return labelled.validation + hands["validation"], labelled.pool + hands["pool"]


def _validation(session: Session, person: Person, n: int) -> Iterator[Text]:
    yield from session.scalars(_free(person).where(Text.split == "validation").order_by(Text.place).limit(n))


def _pool(session: Session, person: Person, n: int) -> Iterator[Text]:
    """Second opinions, then what the model wants to know, then anything; each asked for only when it is needed."""
    yield from session.scalars(_free(person).where(Text.answered > _ZERO).order_by(Text.place).limit(n))
    yield from _queued(session, person)
    yield from session.scalars(_free(person).where(Text.split == "pool").order_by(Text.place).limit(n))


def _queued(session: Session, person: Person) -> Iterator[Text]:
    """What the model wants to know, best first; not joined, since SQLite would go through the texts, not the queue."""
    rows = session.scalars(select(Queued.text_row).order_by(Queued.rank)).all()
    for start in range(0, len(rows), _AT_ONCE):
        part = rows[start : start + _AT_ONCE]
        free = {text.row: text for text in session.scalars(_free(person).where(Text.row.in_(part)))}
        yield from (free[row] for row in part if row in free)


def _free(person: Person) -> Select[Text]:
    """The texts that this person may be asked for."""
    said = select(Standing).where(Standing.text_row == Text.row, Standing.person_number == person.number)
    mine = select(Lease).where(Lease.text_row == Text.row, Lease.person_number == person.number)
    return select(Text).where(Text.open, ~said.exists(), ~mine.exists(), _hands() < Text.wanted - Text.answered)


def _hands() -> ColumnElement[int]:
    """In how many hands a text is; leases that have run out are gone by now."""
    return select(func.count()).where(Lease.text_row == Text.row).correlate(Text).scalar_subquery()
