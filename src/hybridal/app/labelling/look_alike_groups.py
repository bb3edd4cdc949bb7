"""Texts that are almost the same: their groups, and one answer for all that are open.

A group is a row number, that of its first text (`Text.look_alike_of`). Copies of an answer are annotations with
`drawn="copied"`. They settle the texts, but are no labels to learn, to measure or to compare people with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Float, Integer, Select, bindparam, func, select, update
from sqlalchemy.orm import Session, aliased

from hybridal.app.db.connect import Sessions, execute
from hybridal.app.db.schema import Annotation, Lease, Person, Text, Vote, now
from hybridal.app.labelling.annotations import annotate, withdraw_vote
from hybridal.app.labelling.bulk import MAX_TEXTS, PART
from hybridal.app.labelling.consensus import lock_text, lock_texts
from hybridal.app.labelling.texts import chunks
from hybridal.app.project_settings import read, write

MAX_COPIES = MAX_TEXTS  # of one answer; look-alikes beyond are the next question
GROUPED = "grouped"  # the setting that stores the newest row of the texts whose groups are known


def groups_are_known(session: Session) -> bool:
    """Whether the groups of all texts are known, or the project does not use them."""
    settings = read(session)
    newest = session.scalar(select(func.max(Text.row))) or 0
    return bool(not settings["look_alikes"] or settings[GROUPED] >= newest)


def find_groups(sessions: Sessions, reads: Sessions) -> int:
    """Find the groups of all texts, deleted ones included, and store those that changed; return how many texts did.

    Adding texts changes no other group (see `measures.look_alikes`), so people can label meanwhile.
    """
    from hybridal.measures.look_alikes import look_alikes  # numpy only where it is needed

    with reads() as session:
        texts = session.execute(select(Text.row, Text.body).order_by(Text.row)).all()
        known = select(Text.row, Text.look_alike_of).where(Text.look_alike_of.is_not(None))
        before: dict[int, int | None] = dict(session.execute(known).all())
    first = look_alikes([text.body for text in texts])
    sizes: Mapping[int, int] = _counts(first.tolist())
    groups = [texts[at].row if sizes[at] > 1 else None for at in first.tolist()]
    changed = [
        {"row": text.row, "look_alike_of": group}
        for text, group in zip(texts, groups, strict=True)
        if before.get(text.row) != group
    ]
    for part in chunks(changed):
        with sessions.begin() as session:
            session.execute(update(Text), part)
    with sessions.begin() as session:
        write(session, {GROUPED: texts[-1].row if texts else -1})
    return len(changed)


def _counts(numbers: Sequence[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for number in numbers:
        found[number] = found.get(number, 0) + 1
    return found


def _open_to(
    person: int | BindParameter[int], time: float | BindParameter[float], text: type[Text] = Text
) -> ColumnElement[bool]:
    """The texts that an answer may be copied to: in the pool, open, and neither answered by nor held from this person.

    Texts set aside for validation are asked one by one: a copied answer would be no random label.
    """
    mine = select(Vote).where(Vote.text_row == text.row, Vote.person_number == person)
    held = select(Lease).where(Lease.text_row == text.row, Lease.person_number != person, Lease.until > time)
    return text.open & (text.split == "pool") & ~mine.exists() & ~held.exists()


# One statement for all texts, made once. Each count stops at the limit, since a group may have thousands of texts.
_ALIKE = aliased(Text)
_COUNTED = select(_ALIKE.row).where(
    _ALIKE.look_alike_of == Text.look_alike_of,
    _ALIKE.row != Text.row,
    _open_to(bindparam("person", type_=Integer), bindparam("time", type_=Float), _ALIKE),
)
_COUNTED = _COUNTED.limit(bindparam("limit", type_=Integer)).correlate(Text)
_COUNTS = select(Text.row, select(func.count()).select_from(_COUNTED.subquery()).scalar_subquery())
_COUNTS = _COUNTS.where(Text.row.in_(bindparam("rows", expanding=True)))


def open_look_alikes(person: Person, text: Text) -> Select[Text]:
    """The texts to which this person's answer to a text may be copied, at most `MAX_COPIES`."""
    alike = select(Text).where(
        Text.look_alike_of == text.look_alike_of, Text.row != text.row, _open_to(person.number, now())
    )
    return alike.order_by(Text.row).limit(MAX_COPIES)


def count_look_alikes(session: Session, person: Person, texts: Sequence[Text]) -> dict[int, int]:
    """How many look-alikes an answer would be copied to, by the row of the text; texts without any are missing."""
    rows = [text.row for text in texts if text.look_alike_of is not None]
    if not rows:
        return {}
    counts = execute(session, _COUNTS, person=person.number, time=now(), rows=rows, limit=MAX_COPIES)
    return {row: n for row, n in counts if n}


def copy_answer(sessions: Sessions, person: Person, key: str, label: Mapping[str, Any], without: Sequence[str]) -> int:
    """Copy a person's answer to the open look-alikes of its text; return how many copies of it count now.

    Args:
        sessions: Makes sessions that may write.
        person: The annotator.
        key: The key of their answer; nothing happens if it does not count any more.
        label: The answer, as an argument of `annotate`.
        without: Ids of texts that the person excluded.
    """
    excluded = {*without}
    # One transaction for the first part, which is nearly always all: on SQLite each one waits for all others.
    with sessions.begin() as session:
        answer = session.scalar(
            select(Annotation)
            .join(Vote, Vote.annotation_number == Annotation.number)
            .where(Annotation.key == key, Annotation.person_number == person.number, Annotation.copy_of.is_(None))
        )
        text = None if answer is None else session.get_one(Text, answer.text_row)
        if answer is None or text is None or text.look_alike_of is None:
            return 0
        given = session.scalar(_count_copies(person, answer.number)) or 0  # if the request is sent again
        found = session.execute(open_look_alikes(person, text).with_only_columns(Text.row, Text.id))
        rows = [row for row, id in found if id not in excluded][: max(0, MAX_COPIES - given)]
        given += _copy_to(session, person, answer, label, rows[:PART])
    for part in chunks(rows[PART:], PART):
        with sessions.begin() as session:
            given += _copy_to(session, person, answer, label, part)
    return given


def _copy_to(
    session: Session, person: Person, answer: Annotation, label: Mapping[str, Any], rows: Sequence[int]
) -> int:
    """Copy an answer to those of the texts that are still open; return how many are."""
    free = Text.row.in_(rows) & _open_to(person.number, now())
    lock_texts(session, free)
    found = session.execute(select(Text.row, Text.id).where(free).order_by(Text.row)).all()
    for row, id in found:
        own_key = f"copy:{answer.number}:{row}:{answer.key[:24]}"  # no page draws a key with a colon
        annotate(
            session,
            person,
            id,
            "label",
            **label,
            key=own_key,
            drawn="copied",
            codebook=answer.codebook,
            copy_of=answer.number,
        )
    return len(found)


def _copies(person: Person, *which: ColumnElement[bool]) -> Select[int, int]:
    """The copies that count: their texts and numbers."""
    copies = select(Vote.text_row, Vote.annotation_number).where(Vote.person_number == person.number, Vote.copied)
    copies = copies.join(Annotation, Annotation.number == Vote.annotation_number)
    return copies.join(Text, Text.row == Vote.text_row).where(Text.deleted.is_(None), *which)


def _count_copies(person: Person, number: int) -> Select[int]:
    return select(func.count()).select_from(_copies(person, Annotation.copy_of == number).subquery())


def undo_copies(sessions: Sessions, person: Person, text_row: int) -> int:
    """Withdraw the copies of this person's answers to a text that do not count any more; return how many there were."""
    own = select(Vote.annotation_number).where(Vote.text_row == text_row, Vote.person_number == person.number)
    gone = select(Annotation.number).where(
        Annotation.text_row == text_row,
        Annotation.person_number == person.number,
        Annotation.action == "label",
        Annotation.number.not_in(own),
    )
    copies = _copies(person, Annotation.copy_of.in_(gone)).order_by(Vote.text_row)
    with sessions() as session:
        rows = [row for row, _ in session.execute(copies).all()]
    for part in chunks(rows, PART):
        with sessions.begin() as session:
            lock_texts(session, Text.row.in_(part))
            for row, number in session.execute(copies.where(Vote.text_row.in_(part))).all():
                withdraw_vote(session, person, lock_text(session, row), f"uncopy:{number}")
    return len(rows)
