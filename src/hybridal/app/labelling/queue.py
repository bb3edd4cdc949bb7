"""Who gets which text next. Texts are leased: nobody gets one that others hold, unless more votes are wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, bindparam, delete, func, insert, literal_column, select, update
from sqlalchemy.orm import Session

from hybridal.app.db.connect import exclusive, execute
from hybridal.app.db.schema import Lease, Person, QueuedText, Tally, Text, Vote, now
from hybridal.app.labelling.texts import chunks
from hybridal.app.settings import read

_AT_ONCE = 100

_ZERO: ColumnElement[int] = literal_column("0")  # a bound 0 would hide from SQLite that an index is made for this
_ME: BindParameter[int] = bindparam("person")
_N: BindParameter[int] = bindparam("n")
_ROWS: BindParameter[int] = bindparam("rows", expanding=True)

_RUN_OUT = delete(Lease).where(Lease.until <= bindparam("time"))
_LEASE = insert(Lease)
_MINE = (
    select(Lease.text_row, Lease.until)
    .join(Text)
    .where(Lease.person_number == _ME, Text.open)
    .order_by(Lease.until, Lease.text_row)
    .limit(_N)
)
_LONGER = update(Lease).where(Lease.person_number == _ME).values(until=Lease.until + bindparam("more"))
_THESE = select(Text).where(Text.row.in_(_ROWS))

_LABELLED = select(Tally.validation, Tally.pool)
# From the leases, which are few, to their texts one by one: PostgreSQL would go through all texts to join them.
_LEASED = select(Lease.text_row).distinct().subquery()
_ITS_SPLIT = select(Text.split).where(Text.row == _LEASED.c.text_row, Text.answered == 0)
_IN_HANDS = select(_ITS_SPLIT.correlate(_LEASED).scalar_subquery()).select_from(_LEASED)

# The rows that somebody may be asked for; leases that have run out are gone by then.
_ANNOTATED = select(Vote).where(Vote.text_row == Text.row, Vote.person_number == _ME).exists()
_HELD = select(Lease).where(Lease.text_row == Text.row, Lease.person_number == _ME).exists()
_HANDS = select(func.count()).where(Lease.text_row == Text.row).correlate(Text).scalar_subquery()
_FREE = select(Text.row).where(Text.open, ~_ANNOTATED, ~_HELD, Text.wanted - Text.answered > _HANDS)

_VALIDATION = _FREE.where(Text.split == "validation").order_by(Text.place).limit(_N)
_BEGUN = _FREE.where(Text.answered > _ZERO).order_by(Text.place).limit(_N)
_POOL = _FREE.where(Text.split == "pool").order_by(Text.place).limit(_N)
# Not joined, since SQLite would go through the texts, not the queue.
_QUEUE = select(QueuedText.text_row).order_by(QueuedText.rank)
_FREE_OF_THESE = _FREE.where(Text.row.in_(_ROWS), Text.split == "pool")
_GIVE_BACK = delete(Lease).where(
    Lease.person_number == _ME,
    select(Text.row).where(Text.row == Lease.text_row, Text.split == "pool").exists(),
)


def lease_texts(
    session: Session, person: Person, n: int, wanted: Sequence[int] = (), afresh: bool = False
) -> list[Text]:
    """Up to n texts for this person to label, theirs for a while: first those that they have already.

    `wanted` are rows that they ask for before what the model wants to know. Who begins `afresh` gives back what they
    have of the pool.
    """
    settings, time = read(session), now()
    # Two who ask at the same moment are served one after the other.
    exclusive(session)
    execute(session, _RUN_OUT, time=time)
    if afresh:
        execute(session, _GIVE_BACK, person=person.number)
    rows = _in_hand(session, person, n, time, settings["lease_seconds"])
    if more := _next(session, person, n - len(rows), settings, wanted):
        # A moment later each, so that they come in the same order when they are asked for again.
        until = {row: time + settings["lease_seconds"] + place / 1000 for place, row in enumerate(more)}
        leases = [{"text_row": row, "person_number": person.number, "until": until[row]} for row in more]
        session.connection().execute(_LEASE, leases)
    rows += more
    texts = {text.row: text for text in session.scalars(_THESE, {"rows": rows})}
    return [texts[row] for row in rows]


def _in_hand(session: Session, person: Person, n: int, time: float, seconds: float) -> list[int]:
    """The rows that they have; they keep them for longer if half of the time is over."""
    held = execute(session, _MINE, person=person.number, n=n).all()
    if held and held[0].until < time + seconds / 2:
        execute(session, _LONGER, person=person.number, more=seconds / 2)
    return [lease.text_row for lease in held]


def lease_again(session: Session, person: Person, text: Text) -> None:
    """Puts a text into somebody's hands before all others that they have."""
    seconds = read(session)["lease_seconds"]
    held = (Lease.person_number == person.number, Lease.until > now())
    soonest = session.scalar(select(func.min(Lease.until)).where(*held))
    until = now() + seconds if soonest is None else soonest - 0.001
    execute(session, _LEASE, text_row=text.row, person_number=person.number, until=until)


def _next(session: Session, person: Person, n: int, settings: Mapping[str, Any], wanted: Sequence[int]) -> list[int]:
    if not n:
        return []
    splits = next_splits(n, *_done(session), settings["validation_first"], settings["validation_share"])
    supply = {"validation": _validation(session, person, n), "pool": _pool(session, person, n, wanted)}
    rows: list[int] = []
    for split in splits:
        # Where one of the two has run dry, the other goes on.
        for source in (split, "pool", "validation"):
            if row := next((row for row in supply[source] if row not in rows), None):
                rows.append(row)
                break
    return rows


def _done(session: Session) -> tuple[int, int]:
    """How many texts of validation and of the pool are labelled or in somebody's hands."""
    labelled = execute(session, _LABELLED).one()
    hands = Counter(execute(session, _IN_HANDS).scalars())
    return labelled.validation + hands["validation"], labelled.pool + hands["pool"]


def _validation(session: Session, person: Person, n: int) -> Iterator[int]:
    yield from execute(session, _VALIDATION, person=person.number, n=n).scalars()


def _pool(session: Session, person: Person, n: int, wanted: Sequence[int]) -> Iterator[int]:
    """Second opinions, then what the model wants to know, then anything; each asked for only when it is needed.

    What somebody wants themselves comes before all of it.
    """
    yield from _free(session, person, wanted)
    yield from execute(session, _BEGUN, person=person.number, n=n).scalars()
    yield from _free(session, person, execute(session, _QUEUE).scalars().all())
    yield from execute(session, _POOL, person=person.number, n=n).scalars()


def _free(session: Session, person: Person, rows: Sequence[int]) -> Iterator[int]:
    """Those of some rows of the pool that somebody may be asked for, in their order."""
    for part in chunks(rows, _AT_ONCE):
        free = set(execute(session, _FREE_OF_THESE, person=person.number, rows=part).scalars())
        yield from (row for row in part if row in free)


def next_splits(n: int, validation: int, pool: int, first: int, share: float) -> list[str]:
    """The splits of the next n texts, given how many of each are labelled or in somebody's hands.

    The first ones alternate, so that the model has something to learn and something to be measured on early. Later
    a validation text comes after every so many others; by counting, not by chance, so that it is never late.

    >>> next_splits(4, 0, 0, first=50, share=0.1)
    ['validation', 'pool', 'validation', 'pool']
    >>> next_splits(11, 50, 50, first=50, share=0.1).index("validation")
    9
    """
    splits: list[str] = []
    for _ in range(n):
        # Whole numbers of a thousandth: float rounding must not make a text late.
        thousandths = round(share * 1000)
        later = (pool - first) * thousandths >= (validation - first + 1) * (1000 - thousandths)
        wanted = validation <= pool if validation < first else thousandths > 0 and later
        splits.append("validation" if wanted else "pool")
        validation, pool = validation + wanted, pool + (not wanted)
    return splits
