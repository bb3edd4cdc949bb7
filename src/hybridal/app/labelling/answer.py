"""An answer arrives, or is taken back. Answers are only added; the same key counts once."""

from __future__ import annotations

from typing import Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Answer, Person, Standing, Text
from hybridal.app.errors import ConflictError, MissingError
from hybridal.app.labelling import classes
from hybridal.app.labelling.queue import give_back
from hybridal.app.labelling.standing import locked, stand
from hybridal.errors import UserError

_USED = "The key '{key}' was used for something else; draw a new one for each answer."


def answer(
    session: Session,
    person: Person,
    text_id: str,
    action: Literal["label", "skip"],
    *,
    class_name: str | None = None,
    flagged: bool = False,
    comment: str = "",
    key: str,
    decides: bool = False,
) -> Answer:
    """Records what a person says of a text, in place of what they said before; `decides` settles a disagreement."""
    row = session.scalar(select(Text.row).where(Text.id == text_id))
    if row is None:
        raise MissingError(f"There is no text '{text_id:.40}'.")
    text = locked(session, row)
    if earlier := _known(session, person, key):
        if earlier.text_row != text.row or earlier.action == "withdraw":
            raise ConflictError(_USED.format(key=key))
        return earlier
    if (action == "label") != (class_name is not None):
        raise UserError("A label needs a class, and a skip has none.")
    given = Answer(
        key=key,
        text_row=text.row,
        person_number=person.number,
        action=action,
        class_number=None if class_name is None else classes.find(session, class_name).number,
        flagged=flagged,
        comment=comment,
        decides=decides,
    )
    session.add(given)
    session.flush()
    stand(session, text, person, given, given)
    return given


def undo(session: Session, person: Person, key: str) -> Text | None:
    """Withdraws a person's newest standing answer and gives the text back to them; None if nothing is left.

    What they said of it before, if anything, stands again.
    """
    # One undo of a person at a time: a key pressed twice takes two answers back, not one of them twice.
    session.execute(select(Person.number).where(Person.number == person.number).with_for_update(key_share=True))
    if earlier := _known(session, person, key):
        if earlier.action != "withdraw":
            raise ConflictError(_USED.format(key=key))
        return session.get_one(Text, earlier.text_row)
    newest = session.scalar(
        select(Standing.text_row)
        .where(Standing.person_number == person.number)
        .order_by(Standing.answer_number.desc())
        .limit(1)
    )
    if newest is None:
        return None
    text = locked(session, newest)
    history = session.scalars(
        select(Answer).where(Answer.text_row == text.row, Answer.person_number == person.number).order_by(Answer.number)
    ).all()
    withdrawal = Answer(key=key, text_row=text.row, person_number=person.number, action="withdraw")
    session.add(withdrawal)
    session.flush()
    before = last_but([*history, withdrawal])
    stand(session, text, person, withdrawal, before)
    if before is None:
        give_back(session, person, text)
    return text


def last_but(history: list[Answer]) -> Answer | None:
    """The last of a person's answers to a text that no later one withdrew.

    >>> first, second, back = (Answer(action=action) for action in ("label", "skip", "withdraw"))
    >>> last_but([first, second, back]) is first, last_but([first, back, back])
    (True, None)
    """
    kept: list[Answer] = []
    for given in history:
        if given.action != "withdraw":
            kept.append(given)
        elif kept:
            kept.pop()
    return kept[-1] if kept else None


def _known(session: Session, person: Person, key: str) -> Answer | None:
    earlier = session.scalar(select(Answer).where(Answer.key == key))
    if earlier is not None and earlier.person_number != person.number:
        raise ConflictError(_USED.format(key=key))
    return earlier
