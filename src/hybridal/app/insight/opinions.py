"""What people said of the texts that several of them labelled."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Answer, Class, Person, Standing, Text, Verdict
from hybridal.app.insight.agreement import Said

MOST = 200


def opinions(session: Session) -> list[Said]:
    """Text, person and class of each of them; who decides between others has seen their answers, and does not count."""
    rows = session.execute(
        select(Text.id, Person.name, Class.name)
        .join(Standing, Standing.text_row == Text.row)
        .join(Person, Person.number == Standing.person_number)
        .join(Class, Class.number == Standing.class_number)
        .where(Text.answered > 1, Person.kind == "person", ~Standing.decides)
        .order_by(Text.row, Person.number)
    )
    return [(text, person, name) for text, person, name in rows]


def disagreements(session: Session) -> list[tuple[Text, list[tuple[str, str, str]]]]:
    """The first texts that people labelled differently and nobody decided, each with (person, class, comment)."""
    texts = session.scalars(
        select(Text)
        .outerjoin(Verdict, Verdict.text_row == Text.row)
        .where(Text.answered > 1, Verdict.text_row.is_(None))
        .order_by(Text.row)
        .limit(MOST)
    ).all()
    said: dict[int, list[tuple[str, str, str]]] = {text.row: [] for text in texts}
    rows = session.execute(
        select(Standing.text_row, Person.name, Class.name, Answer.comment)
        .join(Person, Person.number == Standing.person_number)
        .join(Class, Class.number == Standing.class_number)
        .join(Answer, Answer.number == Standing.answer_number)
        .where(Standing.text_row.in_(said), Person.kind == "person")
        .order_by(Answer.number)
    )
    for row, person, name, comment in rows:
        said[row].append((person, name, comment))
    return [(text, said[text.row]) for text in texts]
