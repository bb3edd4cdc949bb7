"""Texts come in, some of them set aside for validation or for several people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import func, insert, select, update
from sqlalchemy.orm import Session

from hybridal.app.app_errors import ConflictError
from hybridal.app.db.connect import Sessions, count_texts_again, exclusive
from hybridal.app.db.schema import Annotation, Consensus, Lease, QueuedText, Text, Vote, clean, text_digest
from hybridal.app.db.search import tidy
from hybridal.app.labelling import classes
from hybridal.app.labelling.consensus import counts, move_counts
from hybridal.app.people import file_annotator
from hybridal.app.project_settings import read, write
from hybridal.randomness import stream
from hybridal.tasks.class_names import sort_names


class Row(NamedTuple):
    """A text that comes in, with its label if it has one, and what else its file says of it."""

    id: str
    text: str
    label: str | None = None
    context: Mapping[str, str] = MappingProxyType({})


GivenRow = Row | tuple[str, str, str | None]
"""A row as it is handed in: who has no context gives a plain tuple."""


LONGEST_TEXT = 100_000
"""So many characters a text may have: some forty pages. Nobody reads more before they answer."""

LONGEST_ID = 500
_AT_ONCE = 500
_A_PART = 2000  # texts in a transaction
RESERVE_SETTINGS = ("budget", "validation_first", "validation_share")  # what `reserve` is computed from


def new_rows(session: Session, rows: Sequence[GivenRow], numbered: bool = False) -> list[Row]:
    """The rows that are not there yet. An id is that of one text.

    `numbered` rows have only row numbers for ids: they are known by their text, and count on from those that are there.
    """
    given = [Row(clean(id), clean(body), *more) for id, body, *more in rows]
    there = session.scalar(select(Text.row).limit(1)) is not None
    return _count_on(session, given) if numbered and there else _unknown(session, given)


def _unknown(session: Session, rows: Sequence[Row]) -> list[Row]:
    bodies: dict[str, str] = {}
    for part in chunks(rows):
        found = session.execute(select(Text.id, Text.body).where(Text.id.in_([row.id for row in part])))
        bodies.update((id, body) for id, body in found)
    new: list[Row] = []
    for row in rows:
        if row.id not in bodies:
            new.append(row)
        if bodies.setdefault(row.id, row.text) != row.text:
            raise ConflictError(f"The id '{row.id:.40}' already belongs to another text; give this one its own id.")
    return new


def _count_on(session: Session, rows: Sequence[Row]) -> list[Row]:
    digests: dict[str, str] = dict(session.execute(select(Text.id, Text.digest)).all())
    ids, known = set(digests), set(digests.values())
    new = [row for row in rows if text_digest(row.text) not in known]
    free = (str(number) for number in count(len(ids) + 1) if str(number) not in ids)
    return [row._replace(id=next(free)) for row in new]


def chunks(items: Sequence[Any], size: int = _AT_ONCE) -> Iterator[Sequence[Any]]:
    """The items, some at a time.

    >>> [len(part) for part in chunks(range(1200))]
    [500, 500, 200]
    """
    for start in range(0, len(items), size):
        yield items[start : start + size]


def in_pages(
    sessions: Sessions, read_page: Callable[[Session, int], Sequence[Any]], row_of: Callable[[Any], int]
) -> Iterator[Sequence[Any]]:
    """What is read of all texts, a page a transaction: who takes it slowly holds up nobody.

    `read_page` is given the row of the text that the last page ended with.
    """
    last = -1
    while True:
        with sessions() as session:
            page = read_page(session, last)
        if not page:
            return
        yield page
        last = row_of(page[-1])


@dataclass(frozen=True)
class Added:
    """How many texts are new, and how many were there already."""

    added: int
    known: int


def add(session: Session, rows: Iterable[GivenRow], *, numbered: bool = False, suggested: bool = False) -> Added:
    """Adds texts, some of them set aside for validation at random.

    Their labels are answers of the file; `suggested` ones are only shown to who labels them. A text that is there
    stays as it is (see `new_rows`).
    """
    exclusive(session)
    given = [*rows]
    new = new_rows(session, given, numbered)
    if new:
        _insert(session, new, counts(session)["texts"], suggested)
        _keep_columns(session, new)
    return Added(len(new), len(given) - len(new))


def add_in_parts(
    sessions: Sessions, rows: Sequence[GivenRow], *, numbered: bool = False, suggested: bool = False
) -> Added:
    """Adds many texts while people label: in short transactions, once it is clear that all can be added.

    If it is interrupted, the same again adds the rest.
    """
    with sessions.begin() as session:
        new = new_rows(session, rows, numbered)
    added = 0
    for part in chunks(new, _A_PART):
        with sessions.begin() as session:
            added += add(session, part, suggested=suggested).added
    return Added(added, len(rows) - added)


def _keep_columns(session: Session, new: Sequence[Row]) -> None:
    """The names of all columns that texts came with, in their order, for whoever takes all texts away."""
    known = read(session)["columns"]
    found = [*dict.fromkeys(chain(known, *(row.context for row in new)))]
    if found != known:
        write(session, {"columns": found})


def _insert(session: Session, new: Sequence[Row], before: int, suggested: bool) -> None:
    settings, n = read(session), len(new)
    random = stream(settings["seed"], "texts", before)
    reserved = _reserved(session)
    held_out = set(random.permutation(n)[: reserve(n, settings, before, reserved)].tolist())
    places, shared = random.random(n).tolist(), (random.random(n) < settings["overlap"]).tolist()
    moved = Counter({"texts": n})
    number = _numbers(session, [row.label for row in new if row.label is not None])
    for part in chunks(range(n)):
        values = [
            {
                "id": new[i].id,
                "body": new[i].text,
                "split": "validation" if i in held_out else "pool",
                "place": places[i],
                "wanted": settings["overlap_people"] if shared[i] else 1,
                "open": suggested or new[i].label is None,
                "context": {clean(name): clean(value) for name, value in new[i].context.items()} or None,
                "suggestion": number.get(new[i].label) if suggested else None,
            }
            for i in part
        ]
        rows = session.scalars(insert(Text).returning(Text.row, sort_by_parameter_order=True), values).all()
        if suggested:
            continue
        labels = [(row, value["split"], new[i].label) for i, row, value in zip(part, rows, values, strict=True)]
        _label(session, [(row, number[label]) for row, _, label in labels if label is not None])
        moved.update(split for _, split, label in labels if label is not None)
    tidy(session)
    if 10 * n >= before:
        count_texts_again(session)
    moved["labelled"] = moved["validation"] + moved["pool"]
    move_counts(session, Counter(), moved)


def _numbers(session: Session, labels: Iterable[str]) -> dict[str | None, int]:
    """The classes of these labels, new ones added."""
    names = sort_names(labels)
    return {name: found.number for name, found in zip(names, classes.add(session, names), strict=True)}


def _label(session: Session, labels: Sequence[tuple[int, int]]) -> None:
    """Answers of the file, by the numbers of classes, to texts that nobody has answered yet."""
    if not labels:
        return
    person = file_annotator(session).number
    said = [{"text_row": row, "person_number": person, "class_number": number} for row, number in labels]
    # No page can draw such a key: it has a colon.
    answers = [{**one, "action": "label", "key": f"file:{one['text_row']}"} for one in said]
    made = session.scalars(insert(Annotation).returning(Annotation.number, sort_by_parameter_order=True), answers).all()
    votes, consensus = [], []
    for one, answer in zip(said, made, strict=True):
        votes.append({**one, "annotation_number": answer})
        kept = {"text_row": one["text_row"], "class_number": one["class_number"]}
        consensus.append({**kept, "source": "file", "changed": answer})
    session.execute(insert(Vote), votes)
    session.execute(insert(Consensus), consensus)


def reserve(new: int, settings: Mapping[str, Any], before: int = 0, held_out: int = 0) -> int:
    """How many of `new` texts are set aside.

    At first as many as are needed: the first labels and a share of the budget, but at most a fifth. Of texts that come
    later, the same share as of those `before`, so that what is labelled of the reserve is a random sample of them all.

    >>> plan = {"validation_first": 50, "validation_share": 0.1, "budget": 800}
    >>> reserve(10_000, plan), reserve(200, plan), reserve(5_000, plan, before=10_000, held_out=130)
    (130, 40, 65)
    """
    if before:
        return round(new * held_out / before)
    needed = settings["validation_first"] + round(settings["validation_share"] * settings["budget"])
    return int(min(needed, new // 5))


def _reserved(session: Session) -> int:
    return session.scalar(select(func.count()).where(Text.split == "validation", Text.deleted.is_(None))) or 0


def deleted_ids(session: Session, ids: Sequence[str]) -> set[str]:
    """Those of some texts that were deleted."""
    found: set[str] = set()
    for part in chunks(ids):
        found.update(session.scalars(select(Text.id).where(Text.deleted.is_not(None), Text.id.in_(part))))
    return found


def draw_overlap(session: Session, settings: Mapping[str, Any]) -> None:
    """Draws anew which texts several people shall label, among those that nobody has labelled yet."""
    exclusive(session)
    rows = session.execute(select(Text.row, Text.wanted).where(Text.open, Text.answered == 0).order_by(Text.row)).all()
    chosen = stream(settings["seed"], "overlap", len(rows)).random(len(rows)) < settings["overlap"]
    drawn = [settings["overlap_people"] if shared else 1 for shared in chosen]
    changes = [{"row": row, "wanted": n} for (row, wanted), n in zip(rows, drawn, strict=True) if wanted != n]
    if changes:
        session.execute(update(Text), changes)


def grow_reserve(session: Session, settings: Mapping[str, Any]) -> None:
    """Set more texts aside for validation when the plan needs more than there are.

    They are drawn from the texts without an answer, a lease or a place in the model's queue. A plan that needs fewer
    gives none back: the queue asks for no more of them than the plan wants, and a later rise uses them again.
    """
    exclusive(session)
    n, held_out = counts(session)["texts"], _reserved(session)
    known = [select(table.text_row) for table in (Annotation, Lease, QueuedText)]
    unseen = select(Text.row).where(Text.split == "pool", Text.open, *(Text.row.not_in(rows) for rows in known))
    rows = session.scalars(unseen.order_by(Text.row)).all()
    more = max(0, reserve(n, settings) - held_out)
    drawn = stream(settings["seed"], "reserve", held_out).permutation(len(rows))[:more].tolist()
    if drawn:
        session.execute(update(Text), [{"row": rows[i], "split": "validation"} for i in drawn])
