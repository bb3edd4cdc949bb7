"""Add texts to a project, some of them set aside for validation or for several people."""

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
from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.connect import Sessions, count_texts_again, exclusive
from hybridal.app.db.schema import Annotation, Consensus, Draw, Text, Vote, clean, now, text_digest
from hybridal.app.db.search import tidy
from hybridal.app.labelling import classes
from hybridal.app.labelling.codebook import newest_version
from hybridal.app.labelling.consensus import counts, move_counts
from hybridal.app.labelling.stored_class_sets import Label, active_numbers, is_complete, store_sets
from hybridal.app.people import file_annotator
from hybridal.app.project_settings import read, write
from hybridal.errors import UserError
from hybridal.randomness import stream
from hybridal.tasks.answers import Answer, Decisions, names_of
from hybridal.tasks.class_names import sort_names


class Row(NamedTuple):
    """A text to add, with its label if it has one, and the other columns of its file.

    In a project in which a text may have several classes, the label is a set of names, or one name.
    """

    id: str
    text: str
    label: Answer | None = None
    context: Mapping[str, str] = MappingProxyType({})


GivenRow = Row | tuple[str, str, Answer | None]
"""A row to add; without a context a plain tuple will do."""


Progress = Callable[[int, int], object]
"""Receives how many texts were added, and how many will be."""

LONGEST_TEXT = 100_000
"""The most characters of a text, about forty pages."""

LONGEST_ID = 500
_ROWS_PER_QUERY = 500
_TEXTS_PER_TRANSACTION = 2000
RESERVE_SETTINGS = ("budget", "validation_first", "validation_share")  # arguments of `reserve`


def new_rows(session: Session, rows: Sequence[GivenRow], numbered: bool = False) -> list[Row]:
    """Return the rows that the project does not have yet.

    Args:
        session: A session of the project.
        rows: The rows of a file.
        numbered: The ids are only row numbers. Rows are then compared by text, and new ids continue the numbers.

    Raises:
        ConflictError: An id belongs to another text.
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


def chunks(items: Sequence[Any], size: int = _ROWS_PER_QUERY) -> Iterator[Sequence[Any]]:
    """Split items into chunks.

    >>> [len(part) for part in chunks(range(1200))]
    [500, 500, 200]
    """
    for start in range(0, len(items), size):
        yield items[start : start + size]


def in_pages(
    sessions: Sessions, read_page: Callable[[Session, int], Sequence[Any]], row_of: Callable[[Any], int]
) -> Iterator[Sequence[Any]]:
    """Read all texts page by page, each in its own transaction, so that a slow download blocks no writer.

    Args:
        sessions: Makes sessions of the project.
        read_page: Reads the page after a row.
        row_of: Returns the row of an item of a page.
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
    """How many texts were added, and how many were known already."""

    added: int
    known: int


def add(
    session: Session,
    rows: Iterable[GivenRow],
    *,
    numbered: bool = False,
    suggested: bool = False,
    on_progress: Progress = lambda _done, _total: None,
) -> Added:
    """Add texts, and set a random part of them aside for validation.

    Args:
        session: A session that may write.
        rows: The texts; those that the project has already stay as they are.
        numbered: See `new_rows`.
        suggested: Show labels as suggestions to the people who label, instead of recording them as the file's answers.
        on_progress: Receives how many texts were added so far.
    """
    exclusive(session)
    given = [*rows]
    new = new_rows(session, given, numbered)
    if new:
        _insert(session, new, counts(session)["texts"], suggested, on_progress)
        _keep_columns(session, new)
    return Added(len(new), len(given) - len(new))


def add_in_parts(
    sessions: Sessions,
    rows: Sequence[GivenRow],
    *,
    numbered: bool = False,
    suggested: bool = False,
    on_progress: Progress = lambda _done, _total: None,
) -> Added:
    """Add many texts in short transactions, so that people can label meanwhile; all rows are checked first.

    After an interruption, the same call adds the rest.
    """
    with sessions.begin() as session:
        new = new_rows(session, rows, numbered)
    added = done = 0
    on_progress(done, len(new))
    for part in chunks(new, _TEXTS_PER_TRANSACTION):
        with sessions.begin() as session:
            added += add(session, part, suggested=suggested).added
        done += len(part)
        on_progress(done, len(new))
    return Added(added, len(rows) - added)


def _keep_columns(session: Session, new: Sequence[Row]) -> None:
    """Store the names of all columns that texts came with, in order; exports need them."""
    known = read(session)["columns"]
    found = [*dict.fromkeys(chain(known, *(row.context for row in new)))]
    if found != known:
        write(session, {"columns": found})


def _insert(session: Session, new: Sequence[Row], before: int, suggested: bool, on_progress: Progress) -> None:
    settings, n = read(session), len(new)
    random = stream(settings["seed"], "texts", before)
    aside = reserve(n, settings, before, reserved(session))
    held_out = set(random.permutation(n)[:aside].tolist())
    draw = record_draw(session, frame=n, size=len(held_out), upload=True)
    places, shared = random.random(n).tolist(), (random.random(n) < settings["overlap"]).tolist()
    moved = Counter({"texts": n})
    labels = _labels(session, [row.label for row in new], settings["multi_label"])
    suggested_sets = (
        store_sets(session, (label for label in labels if isinstance(label, ClassSet))) if suggested else {}
    )
    for part in chunks(range(n)):
        values = [
            {
                "id": new[i].id,
                "body": new[i].text,
                "split": "validation" if i in held_out else "pool",
                "draw": draw.number if i in held_out else None,
                "added": draw.made,
                "random_order": places[i],
                "required_votes": settings["overlap_people"] if shared[i] else 1,
                "open": suggested or not is_complete(labels[i]),
                "context": {clean(name): clean(value) for name, value in new[i].context.items()} or None,
                "suggestion": label if suggested and isinstance(label := labels[i], int) else None,
                "suggested_set": suggested_sets.get(label) if isinstance(label := labels[i], ClassSet) else None,
            }
            for i in part
        ]
        rows = session.scalars(insert(Text).returning(Text.row, sort_by_parameter_order=True), values).all()
        on_progress(part[-1] + 1, n)
        if suggested:
            continue
        given = [(row, label) for i, row in zip(part, rows, strict=True) if (label := labels[i]) is not None]
        _label(session, given)
        moved.update(value["split"] for i, value in zip(part, values, strict=True) if labels[i] is not None)
    tidy(session)
    if 10 * n >= before:
        count_texts_again(session)
    moved["labelled"] = moved["validation"] + moved["pool"]
    move_counts(session, Counter(), moved)


def _labels(session: Session, answers: Sequence[Answer | None], multi_label: bool) -> list[Label | None]:
    """Convert labels to class numbers or sets of them, and add classes that are new."""
    names = sort_names(names_of(answers))
    number = {name: found.number for name, found in zip(names, classes.add(session, names), strict=True)}
    if multi_label:
        offered = active_numbers(session)
        return [None if one is None else _set(one, number).completed(offered) for one in answers]
    if any(isinstance(one, Decisions) or (one is not None and len(names_of([one])) != 1) for one in answers):
        raise UserError("In this project a text has exactly one class; give one label per text.")
    return [None if one is None else number[names_of([one])[0]] for one in answers]


def _set(answer: Answer, number: Mapping[str, int]) -> ClassSet:
    if isinstance(answer, Decisions):
        return ClassSet.partial({number[name]: has for name, has in answer.by_class().items()})
    return ClassSet.of(number[name] for name in names_of([answer]))


def _label(session: Session, labels: Sequence[tuple[int, Label]]) -> None:
    """Record the file's labels on texts without an annotation."""
    if not labels:
        return
    person = file_annotator(session).number
    sets = store_sets(session, (label for _, label in labels if isinstance(label, ClassSet)))
    columns = [
        {"text_row": row, "class_number": None, "label_set": sets[label]}
        if isinstance(label, ClassSet)
        else {"text_row": row, "class_number": label, "label_set": None}
        for row, label in labels
    ]
    given = [{**one, "person_number": person} for one in columns]
    common = {"action": "label", "drawn": "file", "codebook": newest_version(session)}
    # No page draws a key with a colon.
    answers = [{**one, **common, "key": f"file:{one['text_row']}"} for one in given]
    made = session.scalars(insert(Annotation).returning(Annotation.number, sort_by_parameter_order=True), answers).all()
    votes = [
        {**one, "annotation_number": answer, "partial": not is_complete(label)}
        for one, answer, (_, label) in zip(given, made, labels, strict=True)
    ]
    consensus = [
        {**one, "source": "file", "annotation_number": answer} for one, answer in zip(columns, made, strict=True)
    ]
    session.execute(insert(Vote), votes)
    session.execute(insert(Consensus), consensus)


def reserve(new: int, settings: Mapping[str, Any], before: int = 0, held_out: int = 0) -> int:
    """Compute how many of `new` texts are set aside for validation.

    Of the first texts as many as the plan needs, but at most a fifth. Of later texts the same share as of those
    `before`, so that the labelled validation texts are a random sample of all texts.

    >>> plan = {"validation_first": 50, "validation_share": 0.1, "budget": 800}
    >>> reserve(10_000, plan), reserve(200, plan), reserve(5_000, plan, before=10_000, held_out=130)
    (130, 40, 65)
    """
    if before:
        return round(new * held_out / before)
    needed = settings["validation_first"] + round(settings["validation_share"] * settings["budget"])
    return int(min(needed, new // 5))


def reserved(session: Session) -> int:
    """Count the texts that are set aside for validation."""
    return session.scalar(select(func.count()).where(Text.split == "validation", Text.deleted.is_(None))) or 0


def deleted_ids(session: Session, ids: Sequence[str]) -> set[str]:
    """Filter the ids of deleted texts."""
    found: set[str] = set()
    for part in chunks(ids):
        found.update(session.scalars(select(Text.id).where(Text.deleted.is_not(None), Text.id.in_(part))))
    return found


def draw_overlap(session: Session, settings: Mapping[str, Any]) -> None:
    """Redraw which texts several people shall label, among those without a label."""
    exclusive(session)
    rows = session.execute(
        select(Text.row, Text.required_votes).where(Text.open, Text.vote_count == 0).order_by(Text.row)
    ).all()
    chosen = stream(settings["seed"], "overlap", len(rows)).random(len(rows)) < settings["overlap"]
    drawn = [settings["overlap_people"] if shared else 1 for shared in chosen]
    changes = [{"row": row, "required_votes": n} for (row, wanted), n in zip(rows, drawn, strict=True) if wanted != n]
    if changes:
        session.execute(update(Text), changes)


def record_draw(session: Session, frame: int, size: int, upload: bool) -> Draw:
    """Store what a random draw was made from, so that its labels can be weighted later."""
    newest = session.scalar(select(func.max(Annotation.number))) or 0
    draw = Draw(made=now(), newest=newest, upload=upload, frame=frame, size=size)
    session.add(draw)
    session.flush()
    return draw
