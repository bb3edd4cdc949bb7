"""Every text that somebody answered, with its label and what everybody says of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from hybridal.app.db.connect import Sessions
from hybridal.app.db.schema import Answer, Class, Person, Standing, Text, Verdict

COLUMNS = ("id", "text", "label", "source", "split", "flagged", "comments", "at", "answers")
_AT_ONCE = 500


def labels(sessions: Sessions) -> Iterator[dict[str, Any]]:
    """The texts in the order in which they came, a page a transaction: who downloads slowly holds up nobody.

    `label` is None where people disagree or only skipped; `at` is the time of the last answer; `answers` has an entry
    for everybody whose answer stands.
    """
    last = -1
    while True:
        with sessions() as session:
            rows = _page(session, last)
        if not rows:
            return
        for text, said in groupby(rows, key=lambda row: row[0]):
            last = text.row
            yield _line(text, [*said])


def _page(session: Session, last: int) -> list[Any]:
    given, settled = aliased(Class), aliased(Class)
    answered = select(Standing.text_row).where(Standing.text_row > last).distinct()
    some = answered.order_by(Standing.text_row).limit(_AT_ONCE).subquery()
    rows = session.execute(
        select(Text, Verdict.source, settled.name, Answer, Person.name, given.name)
        .join(some, some.c.text_row == Text.row)
        .join(Standing, Standing.text_row == Text.row)
        .join(Answer, Answer.number == Standing.answer_number)
        .join(Person, Person.number == Standing.person_number)
        .outerjoin(given, given.number == Standing.class_number)
        .outerjoin(Verdict, Verdict.text_row == Text.row)
        .outerjoin(settled, settled.number == Verdict.class_number)
        .order_by(Text.row, Answer.number)
    )
    return [*rows]


def _line(text: Text, rows: list[Any]) -> dict[str, Any]:
    _, source, label, *_ = rows[0]
    answers = [
        {
            "person": person,
            "action": "adjudicate" if answer.decides else answer.action,
            "class": name,
            "flagged": answer.flagged,
            "comment": answer.comment,
            "at": moment(answer.at),
        }
        for _, _, _, answer, person, name in rows
    ]
    return {
        "id": text.id,
        "text": text.body,
        "label": label,
        "source": source,
        "split": text.split,
        "flagged": any(answer["flagged"] for answer in answers),
        "comments": "\n".join(f"{answer['person']}: {answer['comment']}" for answer in answers if answer["comment"]),
        "at": max(answer["at"] for answer in answers),
        "answers": answers,
    }


def moment(seconds: float) -> str:
    """A time as everybody can read it.

    >>> moment(0.0)
    '1970-01-01T00:00:00.000000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
