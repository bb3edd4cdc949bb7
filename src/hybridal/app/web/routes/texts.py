"""The list of texts, and one text with its history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Answer, Class, Person, Standing, Text
from hybridal.app.db.words import clean
from hybridal.app.errors import MissingError
from hybridal.app.labelling.search import State, search
from hybridal.app.labelling.standing import stands_of
from hybridal.app.labelling.verdict import flagged, settle
from hybridal.app.people.accounts import may
from hybridal.app.people.logins import Visitor
from hybridal.app.settings import read
from hybridal.app.web.access import Annotator, Opened
from hybridal.app.web.excerpt import excerpt
from hybridal.app.web.guesses import guesses
from hybridal.app.web.shapes import Guessed, Shape

router = APIRouter(prefix="/api/texts")


class Listed(Shape):
    """The beginning of a text and what is said of it; an annotator is told what they say themselves, and no more.

    `comment` is the newest one.
    """

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
    flagged: bool
    comment: str
    decides: bool
    at: float


class Told(Listed):
    """The whole text with every answer to it; an annotator is told their own."""

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
        found = search(session, clean(words), clean(class_name), state, page, by=_only(visitor))
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
        if (person := _only(visitor)) is not None:
            given = given.where(Answer.person_number == person)
        said = [
            Said(
                person=who,
                action=one.action,
                class_=name,
                flagged=one.flagged,
                comment=one.comment,
                decides=one.decides,
                at=one.at,
            )
            for one, who, name in session.execute(given)
        ]
        [known] = _listed(session, [text], visitor)
        return Told(**{**known.model_dump(by_alias=False), "text": text.body}, answers=said)


def _only(visitor: Visitor) -> int | None:
    """Whose answers they may see: who is asked for a second opinion must not know the first. None: everybody's."""
    return None if may(visitor.person, "reviewer") else visitor.person.number


def _listed(session: Session, texts: Sequence[Text], visitor: Visitor) -> list[Listed]:
    rows, person = [text.row for text in texts], _only(visitor)
    said = {
        row: [one for number, one in standing.items() if person in (None, number)]
        for row, standing in stands_of(session, rows).items()
    }
    settled = {row: found for row, standing in said.items() if (found := settle(standing)) is not None}
    numbers = {one.class_number for one in settled.values()}
    names = dict(session.execute(select(Class.number, Class.name).where(Class.number.in_(numbers))).all())
    labels = {row: (names[one.class_number], one.source) for row, one in settled.items()}
    comments = select(Standing.text_row, Answer.comment).join(Answer, Answer.number == Standing.answer_number)
    comments = comments.where(Standing.text_row.in_(rows), Answer.comment != "").order_by(Answer.number)
    if person is not None:
        comments = comments.where(Standing.person_number == person)
    newest = dict(session.execute(comments).all())
    shown = person is None or read(session)["show_guesses"]
    known = guesses(session, rows) if shown else {}
    return [
        Listed(
            id=text.id,
            text=excerpt(text.body),
            class_=labels.get(text.row, (None, None))[0],
            source=labels.get(text.row, (None, None))[1],
            split=text.split,
            flagged=flagged(said[text.row]),
            comment=newest.get(text.row, ""),
            guess=known.get(text.row),
        )
        for text in texts
    ]
