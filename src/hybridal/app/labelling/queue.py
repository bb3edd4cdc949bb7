"""Who gets which text next. Texts are leased: nobody gets one that others hold, unless more votes are wanted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    true,
    union_all,
    update,
)
from sqlalchemy.orm import Session

from hybridal.app.db.connect import exclusive, execute
from hybridal.app.db.pipelining import PIPELINED
from hybridal.app.db.schema import Lease, Person, QueuedText, Tally, Text, Vote, now
from hybridal.app.labelling.texts import chunks
from hybridal.app.project_settings import read

_AT_ONCE = 100

_ZERO: ColumnElement[int] = literal_column("0")  # a bound 0 would hide from SQLite that an index is made for this
_ME: BindParameter[int] = bindparam("person")
_N: BindParameter[int] = bindparam("n")
_ROWS: BindParameter[int] = bindparam("rows", expanding=True)

_RUN_OUT = delete(Lease).where(Lease.until <= bindparam("time"))
_LEASE = insert(Lease).execution_options(**PIPELINED)
_LONGER = update(Lease).where(Lease.person_number == _ME).values(until=Lease.until + bindparam("more"))
_THESE = select(Text).where(Text.row.in_(_ROWS))
_GIVE_BACK = delete(Lease).where(
    Lease.person_number == _ME,
    select(Text.row).where(Text.row == Lease.text_row, Text.split == "pool").exists(),
)

# The rows that somebody may be asked for; leases that have run out are gone by then.
_ANNOTATED = select(Vote).where(Vote.text_row == Text.row, Vote.person_number == _ME).exists()
_HELD = select(Lease).where(Lease.text_row == Text.row, Lease.person_number == _ME).exists()
_HANDS = select(func.count()).where(Lease.text_row == Text.row).correlate(Text).scalar_subquery()
_FREE = select(Text.row).where(Text.open, ~_ANNOTATED, ~_HELD, Text.wanted - Text.answered > _HANDS)
_FREE_OF_THESE = _FREE.where(Text.row.in_(_ROWS), Text.split == "pool")


def _some(source: str, found: Select[Any], order: Any) -> Select[Any]:
    """The first n rows that are found, with what they are and what they are ordered by."""
    first = found.add_columns(order.label("at")).order_by(order).limit(_N).subquery()
    return select(literal_column(f"'{source}'").label("source"), first.c[0].label("text_row"), first.c.at)


# One by one in the queue's order, not joined: both databases would go through the texts.
_WISHED = select(QueuedText.text_row).where(
    _FREE.where(Text.row == QueuedText.text_row, Text.split == "pool").correlate(QueuedText).scalar_subquery() > 0
)
_MINE = select(Lease.text_row).join(Text).where(Lease.person_number == _ME, Text.open)
_OFFERS = union_all(
    _some("mine", _MINE, Lease.until),
    _some("validation", _FREE.where(Text.split == "validation"), Text.place),
    _some("begun", _FREE.where(Text.answered > _ZERO), Text.place),
    _some("queue", _WISHED, QueuedText.rank),
    _some("pool", _FREE.where(Text.split == "pool"), Text.place),
).subquery()

# From the leases, which are few, to their texts one by one: PostgreSQL would go through all texts to join them.
_LEASED = select(Lease.text_row).distinct().subquery()
_ITS_SPLIT = select(Text.split).where(Text.row == _LEASED.c.text_row, Text.answered == 0)
_IN_HANDS = select(_ITS_SPLIT.correlate(_LEASED).scalar_subquery().label("split")).select_from(_LEASED).subquery()


def _done(split: str) -> ColumnElement[int]:
    """How many texts of a split are labelled or in somebody's hands."""
    hands = select(func.count()).select_from(_IN_HANDS).where(_IN_HANDS.c.split == split).scalar_subquery()
    done: ColumnElement[int] = getattr(Tally, split) + hands
    return done.label(split)


# What there is to give, and the counts beside each of it, seen in one moment.
_COUNTS = (_done("validation"), _done("pool"), (Tally.texts - Tally.labelled).label("left"))
_RAN_OUT = select(Lease).where(Lease.until <= bindparam("time"))
_LOOK = select(_OFFERS, *_COUNTS, _RAN_OUT.exists().label("ran_out")).select_from(
    Tally.__table__.outerjoin(_OFFERS, true())
)


@dataclass(frozen=True)
class Served:
    """Texts for somebody to label, and how many of all are not labelled yet."""

    texts: list[Text]
    left: int


def lease_texts(
    session: Session,
    person: Person,
    n: int,
    settings: Mapping[str, Any],
    wanted: Sequence[int] = (),
    afresh: bool = False,
) -> Served:
    """Up to n texts for this person to label, theirs for a while: first those that they have already.

    `wanted` are rows that they ask for before what the model wants to know. Who begins `afresh` gives back what they
    have of the pool.
    """
    time, seconds = now(), settings["lease_seconds"]
    # Two who ask at the same moment are served one after the other. A lease that a crash forgets is only given again.
    exclusive(session, durable=False)
    if afresh:
        execute(session, _GIVE_BACK, person=person.number)
    seen = execute(session, _LOOK, person=person.number, n=n, time=time).all()
    if seen[0].ran_out:
        execute(session, _RUN_OUT, time=time)
        seen = execute(session, _LOOK, person=person.number, n=n, time=time).all()
    offers: dict[str, list[int]] = defaultdict(list)
    for one in sorted((one for one in seen if one.source), key=lambda one: (one.at, one.text_row)):
        offers[one.source].append(one.text_row)
    rows = offers["mine"]
    if rows and min(one.at for one in seen if one.source == "mine") < time + seconds / 2:
        execute(session, _LONGER, person=person.number, more=seconds / 2)
    splits = next_splits(
        n - len(rows), seen[0].validation, seen[0].pool, settings["validation_first"], settings["validation_share"]
    )
    more = _next(splits, offers, _free(session, person, wanted))
    texts = {text.row: text for text in session.scalars(_THESE, {"rows": [*rows, *more]})}
    if more:
        # A moment later each, so that they come in the same order when they are asked for again.
        until = {row: time + seconds + place / 1000 for place, row in enumerate(more)}
        leases = [{"text_row": row, "person_number": person.number, "until": until[row]} for row in more]
        session.connection().execute(_LEASE, leases)
    return Served([texts[row] for row in [*rows, *more]], seen[0].left)


def lease_again(session: Session, person: Person, text: Text) -> None:
    """Puts a text into somebody's hands before all others that they have."""
    seconds = read(session)["lease_seconds"]
    held = (Lease.person_number == person.number, Lease.until > now())
    soonest = session.scalar(select(func.min(Lease.until)).where(*held))
    until = now() + seconds if soonest is None else soonest - 0.001
    execute(session, _LEASE, text_row=text.row, person_number=person.number, until=until)


def _next(splits: Sequence[str], offers: Mapping[str, Sequence[int]], wanted: Iterator[int]) -> list[int]:
    """What somebody wants themselves comes first, then second opinions, what the model wants to know, and anything."""
    if not splits:
        return []
    pool = chain(wanted, offers["begun"], offers["queue"], offers["pool"])
    supply = {"validation": iter(offers["validation"]), "pool": pool}
    rows: list[int] = []
    for split in splits:
        # Where one of the two has run dry, the other goes on.
        for source in (split, "pool", "validation"):
            if row := next((row for row in supply[source] if row not in rows), None):
                rows.append(row)
                break
    return rows


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
