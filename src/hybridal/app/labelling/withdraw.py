"""One annotator's answer to one text is taken back, as if it had never been given."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Answer, Person, Standing
from hybridal.app.labelling.standing import locked, stand


def withdraw(session: Session, person: Person, text_row: int, key: str) -> None:
    """Takes back what somebody says of a text; the same key again, or nothing to take back, changes nothing."""
    text = locked(session, text_row)
    mine = select(Standing.answer_number).where(Standing.text_row == text_row, Standing.person_number == person.number)
    if session.scalar(mine) is None or session.scalar(select(Answer.number).where(Answer.key == key)) is not None:
        return
    withdrawal = Answer(key=key, text_row=text_row, person_number=person.number, action="withdraw")
    session.add(withdrawal)
    session.flush()
    stand(session, text, person, None, withdrawal.number)
