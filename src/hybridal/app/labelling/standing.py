"""What follows from an answer: who stands where on a text, its verdict, whether it is still open, the counts."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, bindparam, delete, insert, select, update
from sqlalchemy.orm import Session

from hybridal.app.db.connect import run
from hybridal.app.db.schema import Lease, Person, Standing, Text, Verdict
from hybridal.app.labelling.tally import move, share_of
from hybridal.app.labelling.verdict import Said, settle

_LOCKED = select(Text).with_for_update(key_share=True).execution_options(populate_existing=True)
_OF_ROW = _LOCKED.where(Text.row == bindparam("row"))
_OF_ID = _LOCKED.where(Text.id == bindparam("id"))
_SAID = (
    select(Standing.text_row, Standing.person_number, Person.kind, Standing.class_number, Standing.answer_number)
    .add_columns(Standing.decides, Standing.flagged)
    .join(Person)
    .where(Standing.text_row.in_(bindparam("rows", expanding=True)))
)
_STAND = insert(Standing)
_GO = delete(Standing).where(Standing.text_row == bindparam("row"), Standing.person_number == bindparam("person"))
_HAND_OVER = delete(Lease).where(Lease.text_row == bindparam("row"), Lease.person_number == bindparam("person"))
_SETTLE = insert(Verdict)
_UNSETTLE = delete(Verdict).where(Verdict.text_row == bindparam("row"))
_MARK = (
    update(Text)
    .where(Text.row == bindparam("of"))
    .values(answered=bindparam("by_people"), open=bindparam("still_open"))
)


def stands(session: Session, text: Text) -> dict[int, Said]:
    """What everybody says of a text now, by the number of the person."""
    return stands_of(session, [text.row])[text.row]


def stands_of(session: Session, rows: Sequence[int]) -> dict[int, dict[int, Said]]:
    """What everybody says of some texts now, by the row of the text and the number of the person."""
    said: dict[int, dict[int, Said]] = {row: {} for row in rows}
    for row, person, *what in run(session, _SAID, rows=rows):
        said[row][person] = Said(*what)
    return said


def stand(session: Session, text: Text, person: Person, said: Said | None, answer: int) -> None:
    """Lets a person stand by what they said (None: by nothing) because of an answer, and draws all consequences.

    The text must be locked by the caller: two people may answer it at the same moment.
    """
    before = stands(session, text)
    after = dict(before)
    if after.pop(person.number, None) is not None:
        run(session, _GO, row=text.row, person=person.number)
    if said is not None:
        after[person.number] = said
        run(
            session,
            _STAND,
            text_row=text.row,
            person_number=person.number,
            answer_number=said.number,
            class_number=said.class_number,
            flagged=said.flagged,
            decides=said.decides,
        )
    run(session, _HAND_OVER, row=text.row, person=person.number)
    conclude(session, text, [*before.values()], [*after.values()], answer)


def conclude(session: Session, text: Text, before: Sequence[Said], after: Sequence[Said], answer: int) -> None:
    """The verdict, the openness and the counts of a text on which answers changed; `answer` is what changed them."""
    was, now = settle(before), settle(after)
    if was != now:
        if was is not None:
            run(session, _UNSETTLE, row=text.row)
        if now is not None:
            run(
                session,
                _SETTLE,
                text_row=text.row,
                class_number=now.class_number,
                source=now.source,
                changed=answer,
            )
    run(session, _MARK, of=text.row, by_people=answered(after), still_open=is_open(text.wanted, after))
    move(session, share_of(text.split, before), share_of(text.split, after))


def answered(standing: Sequence[Said]) -> int:
    """How many people labelled it; who only decides between others is not asked as one of them."""
    return sum(said.kind == "person" and said.class_number is not None and not said.decides for said in standing)


def is_open(wanted: int, standing: Sequence[Said]) -> bool:
    """Whether somebody may still be asked: it has no verdict, or too few opinions of those that are wanted.

    >>> is_open(1, []), is_open(1, [Said("person", 1)]), is_open(2, [Said("person", 1)]), is_open(2, [Said("file", 1)])
    (True, False, True, False)
    """
    if any(said.decides for said in standing):
        return False
    people = answered(standing)
    return people < wanted and (people > 0 or settle(standing) is None)


def lock_all(session: Session, which: ColumnElement[bool]) -> None:
    """Locks some texts, for who answers several in one transaction: all of them before the counts move.

    Else somebody who has locked one of them, and waits for the counts, would be waited for in turn.
    """
    session.execute(select(Text.row).where(which).order_by(Text.row).with_for_update(key_share=True))


def locked(session: Session, text_row: int) -> Text:
    """A text that no other transaction answers until this one ends."""
    return session.scalars(_OF_ROW, {"row": text_row}).one()


def find_locked(session: Session, text_id: str) -> Text | None:
    """The same by its id, if there is such a text."""
    return session.scalars(_OF_ID, {"id": text_id}).one_or_none()
