"""Which texts a person gets next. Texts are leased, so that no more people than wanted get the same one.

The model's order of texts is made by `Chapter.choose` and stored by `trainer/publish.py`. Texts for validation, texts
drawn at random and those that wait for a second person come in between.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    Select,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    or_,
    select,
    true,
    union_all,
    update,
)
from sqlalchemy.orm import Session, aliased

from hybridal.app.db.connect import exclusive, execute
from hybridal.app.db.pipelining import PIPELINED
from hybridal.app.db.schema import Draw, Lease, Person, QueuedText, ServedText, Tally, Text, Vote, now
from hybridal.app.labelling.texts import chunks
from hybridal.app.project_settings import read
from hybridal.randomness import stream

SPARE_SPREAD = 5  # spare texts are chosen among this many times their number
_ROWS_PER_QUERY = 100

_ZERO: ColumnElement[int] = literal_column("0")  # with a bound 0 SQLite would not use the partial index
_ME: BindParameter[int] = bindparam("person")
_N: BindParameter[int] = bindparam("n")
_ROWS: BindParameter[int] = bindparam("rows", expanding=True)

_DELETE_EXPIRED = delete(Lease).where(Lease.until <= bindparam("time"))
_LEASE = insert(Lease).execution_options(**PIPELINED)
_EXTEND = update(Lease).where(Lease.person_number == _ME).values(until=Lease.until + bindparam("more"))
# A text that is labelled already was perhaps picked by its annotator, so it does not become a served one.
_UNSERVED = select(Text.row).where(Text.row.in_(_ROWS), Text.vote_count == 0)
_UNSERVED = _UNSERVED.where(~select(ServedText).where(ServedText.text_row == Text.row).exists())
_SERVE = insert(ServedText).from_select(["text_row"], _UNSERVED).execution_options(**PIPELINED)
_THESE = select(Text).where(Text.row.in_(_ROWS))
# Without texts to which an answer was copied since they were chosen, or is being copied: these are locked.
_UNLOCKED = _THESE.where(Text.open).with_for_update(read=True, skip_locked=True)
_GIVE_BACK = delete(Lease).where(
    Lease.person_number == _ME,
    select(Text.row).where(Text.row == Lease.text_row, Text.split == "pool").exists(),
)

# The rows that a person may be asked for; expired leases are deleted before.
_UNBEGUN: BindParameter[bool] = bindparam("unbegun", False, type_=Boolean())  # also without those answered in part
_ANSWERED = or_(~Vote.partial, _UNBEGUN)
_ANNOTATED = select(Vote).where(Vote.text_row == Text.row, Vote.person_number == _ME, _ANSWERED).exists()
_HELD = select(Lease).where(Lease.text_row == Text.row, Lease.person_number == _ME).exists()
_LEASES = select(func.count()).where(Lease.text_row == Text.row).correlate(Text).scalar_subquery()
_FREE = select(Text.row).where(Text.open, ~_ANNOTATED, ~_HELD, Text.required_votes - Text.vote_count > _LEASES)
# Of look-alikes one is asked at a time, since its answer may be copied to the others.
_ALIKE = aliased(Text)
_HELD_ALIKE = select(Lease.text_row).join(_ALIKE, _ALIKE.row == Lease.text_row)
_HELD_ALIKE = _HELD_ALIKE.where(_ALIKE.look_alike_of == Text.look_alike_of)
_FOLDED: BindParameter[bool] = bindparam("folded", True, type_=Boolean())
_FREE = _FREE.where(or_(~_FOLDED, Text.look_alike_of.is_(None), ~_HELD_ALIKE.correlate(Text).exists()))
_FREE_OF_THESE = _FREE.where(Text.row.in_(_ROWS)).add_columns(Text.look_alike_of)
_FREE_OF_POOL = _FREE_OF_THESE.where(Text.split == "pool")
_HIDDEN = _FREE.where(Text.row.not_in(_ROWS), Text.split == "pool").limit(1)


def _some(source: str, found: Select[Any], order: Any) -> Select[Any]:
    """The first n rows of a query, with the name of their source and their sort key."""
    first = found.add_columns(order.label("at")).order_by(order).limit(_N).subquery()
    return select(literal_column(f"'{source}'").label("source"), first.c[0].label("text_row"), first.c.at)


# A correlated subquery in the queue's order; for a join both databases would scan the texts.
_QUEUED = select(QueuedText.text_row).where(
    _FREE.where(Text.row == QueuedText.text_row, Text.split == "pool").correlate(QueuedText).scalar_subquery() > 0
)
# Uploads first, then one draw after the other: a later draw counts once the texts of those before are labelled.
_LATER_DRAW = select(Draw.number).where(Draw.number == Text.draw, ~Draw.upload).correlate(Text).scalar_subquery()
_IN_DRAWS = func.coalesce(_LATER_DRAW, 0) + Text.random_order
_MINE = select(Lease.text_row).join(Text).where(Lease.person_number == _ME, Text.open)
_OFFERS = union_all(
    _some("mine", _MINE, Lease.until),
    _some("validation", _FREE.where(Text.split == "validation"), _IN_DRAWS),
    _some("begun", _FREE.where(Text.vote_count > _ZERO), Text.random_order),
    _some("queue", _QUEUED, QueuedText.rank),
    _some("pool", _FREE.where(Text.split == "pool"), Text.random_order),
).subquery()

_SPARE = union_all(
    _some("queue", _QUEUED, QueuedText.rank), _some("pool", _FREE.where(Text.split == "pool"), Text.random_order)
).subquery()

# A correlated subquery per lease, of which there are few; for a join PostgreSQL would scan all texts.
_LEASED = select(Lease.text_row).distinct().subquery()
_ITS_SPLIT = select(Text.split).where(Text.row == _LEASED.c.text_row, Text.vote_count == 0)
_LEASED_SPLITS = select(_ITS_SPLIT.correlate(_LEASED).scalar_subquery().label("split")).select_from(_LEASED).subquery()


def _done(split: str) -> ColumnElement[int]:
    """How many texts of a split are labelled or leased; a copied label is no answer of its own."""
    leased = select(func.count()).select_from(_LEASED_SPLITS).where(_LEASED_SPLITS.c.split == split).scalar_subquery()
    own = Tally.pool - Tally.copied if split == "pool" else Tally.validation
    done: ColumnElement[int] = own + leased
    return done.label(split)


# One query reads the offers and the counts in the same snapshot.
_COUNTS = (_done("validation"), _done("pool"), (Tally.texts - Tally.labelled).label("left"))
_EXPIRED_LEASES = select(Lease).where(Lease.until <= bindparam("time"))
_GROUP = select(Text.look_alike_of).where(Text.row == _OFFERS.c.text_row).scalar_subquery().label("group")
_LOOK = select(_OFFERS, _GROUP, *_COUNTS, _EXPIRED_LEASES.exists().label("expired")).select_from(
    Tally.__table__.outerjoin(_OFFERS, true())
)


@dataclass(frozen=True)
class NextTexts:
    """Texts for a person to label, and how many texts of the project are unlabelled."""

    texts: list[Text]
    left: int


def lease_texts(
    session: Session,
    person: Person,
    n: int,
    settings: Mapping[str, Any],
    wanted: Sequence[int] = (),
    afresh: bool = False,
    unbegun: bool = False,
    first: Sequence[int] = (),
) -> NextTexts:
    """Lease up to n texts to a person, beginning with those that they hold already.

    Args:
        session: A session that may write.
        person: The annotator.
        n: How many texts at most.
        settings: The settings of the project.
        wanted: Rows that the person prefers to the model's queue.
        afresh: Give back the pool texts that they hold first.
        unbegun: Only texts of which they have not decided any class yet.
        first: Rows that come before all others, of any split.

    Returns:
        The texts, and how many are unlabelled.
    """
    time, seconds = now(), settings["lease_seconds"]
    # Requests are served one after the other. Not durable: a lease that is lost in a crash is just given again.
    exclusive(session, durable=False)
    if afresh:
        execute(session, _GIVE_BACK, person=person.number)
    asked = {"person": person.number, "n": n, "time": time, "unbegun": unbegun, "folded": settings["look_alikes"]}
    seen = execute(session, _LOOK, **asked).all()
    if seen[0].expired:
        execute(session, _DELETE_EXPIRED, time=time)
        seen = execute(session, _LOOK, **asked).all()
    offers: dict[str, list[int]] = defaultdict(list)
    for one in sorted((one for one in seen if one.source), key=lambda one: (one.at, one.text_row)):
        offers[one.source].append(one.text_row)
    rows = offers["mine"]
    if rows and min(one.at for one in seen if one.source == "mine") < time + seconds / 2:
        execute(session, _EXTEND, person=person.number, more=seconds / 2)
    folds, groups = bool(settings["look_alikes"]), {one.text_row: one.group for one in seen if one.source}
    in_order = _free(session, {**asked, "folded": False, "rows": first}, _FREE_OF_THESE, groups)
    begin = [*islice(in_order, max(0, n - len(rows)))]
    open_places = n - len(rows) - len(begin)
    splits = ["validation"] * max(0, min(open_places, settings["random_labels"] - seen[0].validation))
    splits += next_splits(
        open_places - len(splits),
        seen[0].validation + len(splits),
        seen[0].pool,
        settings["validation_first"],
        settings["validation_share"],
    )

    def has_hidden(rows: Sequence[int]) -> bool:
        return folds and bool(execute(session, _HIDDEN, **{**asked, "folded": False, "rows": rows}).first())

    preferred = _free(session, {**asked, "rows": wanted}, _FREE_OF_POOL, groups)
    more = [*begin, *_next(splits, offers, preferred, [*rows, *begin], groups if folds else {}, has_hidden)]
    texts = {text.row: text for text in session.scalars(_UNLOCKED, {"rows": [*rows, *more]})}
    rows, more = [row for row in rows if row in texts], [row for row in more if row in texts]
    if more:
        # Each a millisecond later, so that the order is the same in the next request.
        until = {row: time + seconds + place / 1000 for place, row in enumerate(more)}
        leases = [{"text_row": row, "person_number": person.number, "until": until[row]} for row in more]
        session.connection().execute(_LEASE, leases)
        execute(session, _SERVE, rows=more)
    return NextTexts([texts[row] for row in [*rows, *more]], seen[0].left)


def spare_texts(session: Session, person: Person, n: int) -> list[Text]:
    """Return texts for a time without a connection.

    They are not leased, because they are rarely needed. So they are a random part of the next texts, another for each
    person: two people without a connection hardly label the same ones.

    Args:
        session: A session, which may only read.
        person: The annotator.
        n: How many texts at most.
    """
    asked = {"person": person.number, "n": SPARE_SPREAD * n, "unbegun": True}
    seen = sorted(execute(session, select(_SPARE), **asked), key=lambda one: (one.source == "pool", one.at))
    rows = [*dict.fromkeys(one.text_row for one in seen)][: SPARE_SPREAD * n]
    rows = stream(person.number, "spare texts").permutation(rows)[:n].tolist()
    texts = {text.row: text for text in session.scalars(_THESE, {"rows": rows})}
    return [texts[row] for row in rows]


def lease_again(session: Session, person: Person, text: Text) -> None:
    """Lease a text to a person, so that it comes before all others that they hold."""
    seconds = read(session)["lease_seconds"]
    held = (Lease.person_number == person.number, Lease.until > now())
    soonest = session.scalar(select(func.min(Lease.until)).where(*held))
    until = now() + seconds if soonest is None else soonest - 0.001
    execute(session, _LEASE, text_row=text.row, person_number=person.number, until=until)


def _next(
    splits: Sequence[str],
    offers: Mapping[str, Sequence[int]],
    wanted: Iterator[int],
    taken: Sequence[int],
    groups: Mapping[int, int | None],
    has_hidden: Callable[[Sequence[int]], bool],
) -> list[int]:
    """Take other rows: preferred ones first, then texts that need a second vote, the model's queue, and any others.

    Of each group of look-alikes only one row is taken. While that hides the rest of the pool (`has_hidden`), no
    validation texts take their places.
    """
    if not splits:
        return []
    pool = chain(wanted, offers["begun"], offers["queue"], offers["pool"])
    supply = {"validation": iter(offers["validation"]), "pool": pool}
    rows: list[int] = []
    for split in splits:
        # If one split is exhausted, take from the other.
        for source in (split, "pool", "validation"):
            if row := _take(supply[source], [*taken, *rows], groups):
                rows.append(row)
                break
            if source == "pool" and has_hidden([*taken, *rows]):
                break
    return rows


def _take(supply: Iterator[int], taken: Sequence[int], groups: Mapping[int, int | None]) -> int | None:
    """The next row of a supply that neither is taken nor a look-alike of one that is."""
    taken_groups = {groups.get(row) for row in taken} - {None}
    return next((row for row in supply if row not in taken and groups.get(row) not in taken_groups), None)


def _free(
    session: Session, asked: Mapping[str, Any], found: Select[int, int | None], groups: dict[int, int | None]
) -> Iterator[int]:
    """Filter the rows that a person may be asked for, in their order, and add their groups of look-alikes."""
    for part in chunks(asked["rows"], _ROWS_PER_QUERY):
        free: dict[int, int | None] = dict(execute(session, found, **{**asked, "rows": part}).all())
        groups |= free
        yield from (row for row in part if row in free)


def next_splits(n: int, validation: int, pool: int, first: int, share: float) -> list[str]:
    """Return the splits of the next n texts, given how many of each split are labelled or leased.

    The first ones alternate, so that there are labels for training and validation early. Later validation texts come
    at a fixed rate; by counting, not at random, so that none is late.

    >>> next_splits(4, 0, 0, first=50, share=0.1)
    ['validation', 'pool', 'validation', 'pool']
    >>> next_splits(11, 50, 50, first=50, share=0.1).index("validation")
    9
    """
    splits: list[str] = []
    for _ in range(n):
        # Integer thousandths: rounding of floats must not make a text late.
        thousandths = round(share * 1000)
        later = (pool - first) * thousandths >= (validation - first + 1) * (1000 - thousandths)
        wanted = validation <= pool if validation < first else thousandths > 0 and later
        splits.append("validation" if wanted else "pool")
        validation, pool = validation + wanted, pool + (not wanted)
    return splits
