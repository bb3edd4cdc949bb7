"""What follows from an answer: who stands where on a text, its verdict, whether it is still open, the counts."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Answer, Lease, Person, Standing, Text, Verdict
from hybridal.app.labelling.classes import resolve
from hybridal.app.labelling.tally import move, share_of
from hybridal.app.labelling.verdict import Said, settle


def stands(session: Session, text: Text) -> dict[int, Said]:
    """What everybody says of a text now, by the number of the person."""
    return stands_of(session, [text.row])[text.row]


def stands_of(session: Session, rows: Sequence[int]) -> dict[int, dict[int, Said]]:
    """What everybody says of some texts now, by the row of the text and the number of the person."""
    found = session.execute(
        select(Standing.text_row, Standing.person_number, Person.kind, Standing.class_number, Standing.answer_number)
        .add_columns(Standing.decides, Standing.flagged)
        .join(Person)
        .where(Standing.text_row.in_(rows))
    )
    said: dict[int, dict[int, Said]] = {row: {} for row in rows}
    for row, person, *what in found:
        said[row][person] = Said(*what)
    return said


def stand(session: Session, text: Text, person: Person, answer: Answer, now: Answer | None) -> None:
    """Lets `person` stand by the answer `now` (None: by nothing), because of `answer`, and draws all consequences.

    The text must be locked by the caller (`locked`): two people may answer it at the same moment.
    """
    before = stands(session, text)
    after = dict(before)
    after.pop(person.number, None)
    session.execute(delete(Standing).where(Standing.text_row == text.row, Standing.person_number == person.number))
    if now is not None:
        class_number = None if now.class_number is None else resolve(session, now.class_number)
        after[person.number] = Said(person.kind, class_number, now.number, now.decides, now.flagged)
        session.add(
            Standing(
                text_row=text.row,
                person_number=person.number,
                answer_number=now.number,
                class_number=class_number,
                flagged=now.flagged,
                decides=now.decides,
            )
        )
    session.execute(delete(Lease).where(Lease.text_row == text.row, Lease.person_number == person.number))
    conclude(session, text, [*before.values()], [*after.values()], answer.number)


def conclude(session: Session, text: Text, before: Sequence[Said], after: Sequence[Said], answer: int) -> None:
    """The verdict, the openness and the counts of a text on which answers changed; `answer` is what changed them."""
    settled = settle(after)
    verdict = session.get(Verdict, text.row)
    if settled is None:
        if verdict is not None:
            session.delete(verdict)
    elif verdict is None:
        session.add(
            Verdict(text_row=text.row, class_number=settled.class_number, source=settled.source, changed=answer)
        )
    elif (verdict.class_number, verdict.source) != (settled.class_number, settled.source):
        verdict.class_number, verdict.source, verdict.changed = settled.class_number, settled.source, answer
    text.answered = answered(after)
    text.open = is_open(text.wanted, after)
    session.flush()
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


def locked(session: Session, text_row: int) -> Text:
    """A text that no other transaction answers until this one ends."""
    found = select(Text).where(Text.row == text_row).with_for_update(key_share=True)
    return session.scalars(found.execution_options(populate_existing=True)).one()
