"""The work itself: the next texts, answers, and taking them back."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from sqlalchemy.orm import Session

from hybridal.app.errors import MissingError
from hybridal.app.labelling import classes
from hybridal.app.labelling.answer import answer, known, undo
from hybridal.app.labelling.queue import take
from hybridal.app.labelling.tally import counts
from hybridal.app.people.logins import Visitor
from hybridal.app.settings import read
from hybridal.app.web.access import Annotator, Opened
from hybridal.app.web.guesses import items
from hybridal.app.web.routes.classes import may_define
from hybridal.app.web.shapes import Counts, Item, Key, Shape, Words

router = APIRouter(prefix="/api")


class Next(Shape):
    """Texts for who asks, and how many texts are not labelled yet."""

    items: list[Item]
    left: int


class Given(Shape):
    """What somebody says of a text; `key` is drawn by the page, so that sending it twice counts once."""

    key: Key
    text: Words
    action: Literal["label", "skip"]
    class_: Words | None = Field(
        None, validation_alias="class", serialization_alias="class", max_length=classes.LONGEST
    )
    flagged: bool = False
    comment: Words = Field("", max_length=10_000)


class Counted(Shape):
    """It is written down for good."""

    ok: bool
    counts: Counts


class Asked(Shape):
    """A key of its own, so that sending it twice takes one answer back; `undoes` is the key of that answer."""

    key: Key
    undoes: Key | None = None


class Back(Shape):
    """The text whose answer was taken back, if there was one."""

    item: Item | None
    counts: Counts


@router.get("/next")
def next_texts(visitor: Annotator, project: Opened, n: Annotated[int, Query(ge=1, le=100)] = 5) -> Next:
    """The next texts for who asks; they are theirs for some minutes."""
    with project.sessions.begin() as session:
        decided, now = read(session), counts(session)
        shown = items(session, take(session, visitor.person, n), decided["show_guesses"])
        return Next(items=shown, left=now["texts"] - now["labelled"])


@router.post("/answers")
def answered(given: Given, visitor: Annotator, project: Opened) -> Counted:
    """Writes an answer down; when this returns, it is safe."""
    with project.sessions.begin() as session:
        # Sent again, it defines nothing: its class may have another name by now.
        if given.class_ is not None and known(session, visitor.person, given.key) is None:
            _define(session, visitor, given.class_)
        answer(
            session,
            visitor.person,
            given.text,
            given.action,
            class_name=given.class_,
            flagged=given.flagged,
            comment=given.comment,
            key=given.key,
        )
        now = counts(session)
    return Counted(ok=True, counts=Counts(**now))


@router.post("/undo")
def undone(asked: Asked, visitor: Annotator, project: Opened) -> Back:
    """Takes an answer of who asks back, the newest unless they name one, and gives them its text again."""
    with project.sessions.begin() as session:
        text = undo(session, visitor.person, asked.key, asked.undoes)
        shown = items(session, [] if text is None else [text], read(session)["show_guesses"])
        now = counts(session)
    return Back(item=shown[0] if shown else None, counts=Counts(**now))


def _define(session: Session, visitor: Visitor, name: str) -> None:
    """Makes a class that is new, for those who may define classes as they go."""
    if may_define(session, visitor):
        try:
            classes.find(session, name)
        except MissingError:
            classes.add(session, [name])
