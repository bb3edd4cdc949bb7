"""An answer arrives, or is taken back. Answers are only added; the same key counts once."""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import Row, bindparam, insert, select
from sqlalchemy.orm import Session

from hybridal.app.db.connect import run
from hybridal.app.db.schema import Answer, Person, Standing, Text
from hybridal.app.errors import ConflictError, MissingError
from hybridal.app.labelling import classes
from hybridal.app.labelling.queue import give_back
from hybridal.app.labelling.standing import find_locked, locked, stand
from hybridal.app.labelling.verdict import Said
from hybridal.errors import UserError

_USED = "The key '{key}' was used for something else; draw a new one for each answer."

_ADD = insert(Answer).returning(Answer.number)
_OF_THIS_KEY = select(Answer.number, Answer.text_row, Answer.person_number, Answer.action).where(
    Answer.key == bindparam("key")
)


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
) -> int:
    """Records what a person says of a text, in place of what they said before; `decides` settles a disagreement.

    Returns the number of the answer.
    """
    text = find_locked(session, text_id)
    if text is None:
        raise MissingError(f"There is no text '{text_id:.40}'.")
    if earlier := known(session, person, key):
        if earlier.text_row != text.row or earlier.action == "withdraw":
            raise ConflictError(_USED.format(key=key))
        return int(earlier.number)
    if (action == "label") != (class_name is not None):
        raise UserError("A label needs a class, and a skip has none.")
    class_number = None if class_name is None else classes.find(session, class_name).number
    number: int = run(
        session,
        _ADD,
        key=key,
        text_row=text.row,
        person_number=person.number,
        action=action,
        class_number=class_number,
        flagged=flagged,
        comment=comment,
        decides=decides,
    ).scalar_one()
    stand(session, text, person, Said(person.kind, class_number, number, decides, flagged), number)
    return number


def undo(session: Session, person: Person, key: str, undoes: str | None = None) -> Text | None:
    """Withdraws a person's standing answer of the key `undoes`, or their newest, and gives the text back to them.

    What they said of it before, if anything, stands again. None if there is no such answer.
    """
    # One undo of a person at a time: a key pressed twice takes two answers back, not one of them twice.
    session.execute(select(Person.number).where(Person.number == person.number).with_for_update(key_share=True))
    if earlier := known(session, person, key):
        if earlier.action != "withdraw":
            raise ConflictError(_USED.format(key=key))
        return session.get_one(Text, earlier.text_row)
    theirs = select(Standing.text_row).where(Standing.person_number == person.number)
    if undoes is not None:
        theirs = theirs.where(Standing.answer_number.in_(select(Answer.number).where(Answer.key == undoes)))
    newest = session.scalar(theirs.order_by(Standing.answer_number.desc()).limit(1))
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
    stand(session, text, person, None if before is None else _said(session, person, before), withdrawal.number)
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


def _said(session: Session, person: Person, given: Answer) -> Said:
    """What an answer means today: its class may have become another."""
    class_number = None if given.class_number is None else classes.resolve(session, given.class_number)
    return Said(person.kind, class_number, given.number, given.decides, given.flagged)


def known(session: Session, person: Person, key: str) -> Row[*tuple[Any, ...]] | None:
    """The answer that came with this key before, if any; a key of somebody else's is refused."""
    earlier = run(session, _OF_THIS_KEY, key=key).one_or_none()
    if earlier is not None and earlier.person_number != person.number:
        raise ConflictError(_USED.format(key=key))
    return earlier
