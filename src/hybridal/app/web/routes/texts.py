"""The list of texts, and one text with its history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Answer, Class, Person, Standing, Text, Verdict, clean
from hybridal.app.errors import MissingError
from hybridal.app.labelling.search import State, search
from hybridal.app.labelling.standing import stands_of
from hybridal.app.labelling.verdict import flagged
from hybridal.app.people.accounts import may
from hybridal.app.people.logins import Visitor
from hybridal.app.settings import read
from hybridal.app.web.access import Annotator, Opened
from hybridal.app.web.guesses import guesses
from hybridal.app.web.shapes import Guessed, Shape

router = APIRouter(prefix="/api/texts")


class Listed(Shape):
    """A text and what is known of it; `comment` is the newest one."""

    id: str
    text: str
    class_: str | None = Field(validation_alias="class", serialization_alias="class")
    source: str | None
    split: str
    flagged: bool
    comment: str
    guess: Guessed | None


class Said(Shape):
    """An answer that somebody gave at some time."""

    person: str
    action: str
    class_: str | None = Field(validation_alias="class", serialization_alias="class")
    comment: str
    decides: bool
    at: float


class Told(Listed):
    """A text with every answer to it; an annotator is told their own."""

    answers: list[Said]


class Page(Shape):
    """One page of a list."""

    items: list[Listed]
    total: int
    pages: int


@router.get("")
def listed(
    visitor: Annotator,
    project: Opened,
    words: Annotated[str, Query(alias="search", max_length=200)] = "",
    class_name: Annotated[str, Query(alias="class", max_length=200)] = "",
    state: State | None = None,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> Page:
    """The texts that fit."""
    with project.reads() as session:
        found = search(session, clean(words), clean(class_name), state, page)
        return Page(items=_listed(session, found.texts, visitor), total=found.total, pages=found.pages)


@router.get("/{id:path}")
def told(id: str, visitor: Annotator, project: Opened) -> Told:
    """One text and its history."""
    with project.reads() as session:
        text = session.scalar(select(Text).where(Text.id == clean(id)))
        if text is None:
            raise MissingError("There is no such text.")
        given = (
            select(Answer, Person.name, Class.name)
            .join(Person, Person.number == Answer.person_number)
            .outerjoin(Class, Class.number == Answer.class_number)
            .where(Answer.text_row == text.row)
            .order_by(Answer.number)
        )
        if not may(visitor.person, "reviewer"):
            given = given.where(Answer.person_number == visitor.person.number)
        said = [
            Said(person=who, action=one.action, class_=name, comment=one.comment, decides=one.decides, at=one.at)
            for one, who, name in session.execute(given)
        ]
        return Told(**_listed(session, [text], visitor)[0].model_dump(by_alias=False), answers=said)


def _listed(session: Session, texts: Sequence[Text], visitor: Visitor) -> list[Listed]:
    rows = [text.row for text in texts]
    verdicts = {
        row: (name, source)
        for row, name, source in session.execute(
            select(Verdict.text_row, Class.name, Verdict.source)
            .join(Class, Class.number == Verdict.class_number)
            .where(Verdict.text_row.in_(rows))
        )
    }
    comments = select(Standing.text_row, Answer.comment).join(Answer, Answer.number == Standing.answer_number)
    comments = comments.where(Standing.text_row.in_(rows), Answer.comment != "").order_by(Answer.number)
    newest = dict(session.execute(comments).all())
    said = stands_of(session, rows)
    shown = may(visitor.person, "reviewer") or read(session)["show_guesses"]
    known = guesses(session, rows) if shown else {}
    return [
        Listed(
            id=text.id,
            text=text.body,
            class_=verdicts.get(text.row, (None, None))[0],
            source=verdicts.get(text.row, (None, None))[1],
            split=text.split,
            flagged=flagged([*said[text.row].values()]),
            comment=newest.get(text.row, ""),
            guess=known.get(text.row),
        )
        for text in texts
    ]
