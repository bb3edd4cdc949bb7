"""Two classes become one: old answers keep their words, and stand for the class that is left."""

from __future__ import annotations

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from hybridal.app.db.connect import alone, no_answers
from hybridal.app.db.schema import Class, Guess, Standing, Text, Verdict
from hybridal.app.errors import ConflictError
from hybridal.app.labelling.classes import get
from hybridal.app.labelling.standing import conclude, locked, stands


def merge(session: Session, number: int, into: int) -> Class:
    """Everything of class `number` is of class `into` from now on; people who differed only in this agree now."""
    alone(session)
    no_answers(session)
    gone, left = get(session, number), get(session, into)
    if gone is left or gone.became is not None or left.became is not None:
        raise ConflictError("Only two different classes that are in use can be merged.")
    gone.became = left.number
    touched = _disagreements(session, number)
    before = {text.row: [*stands(session, text).values()] for text in touched}
    for table in (Standing, Verdict, Guess):
        session.execute(update(table).where(table.class_number == number).values(class_number=into))
    session.flush()
    session.expire_all()
    for text in touched:
        after = [*stands(session, text).values()]
        conclude(session, text, before[text.row], after, max(said.number for said in after))
    return left


def _disagreements(session: Session, number: int) -> list[Text]:
    """The texts that have answers of this class but no verdict, locked."""
    rows = session.scalars(
        select(Standing.text_row)
        .outerjoin(Verdict, Verdict.text_row == Standing.text_row)
        .where(Standing.class_number == number, Verdict.text_row.is_(None))
        .group_by(Standing.text_row)
        .having(func.count() > 0)
        .order_by(Standing.text_row)
    ).all()
    return [locked(session, row) for row in rows]
