"""What the LLM said, kept; what of it becomes a label, given; and what goes to people, queued for them."""

from __future__ import annotations

import hashlib

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, Guess, LlmAnswer, Person, Queued, Standing, Text, Verdict
from hybridal.app.errors import MissingError
from hybridal.app.labelling.answer import answer
from hybridal.app.labelling.standing import is_open, lock_all, locked, stands
from hybridal.app.labelling.withdraw import withdraw
from hybridal.app.llm.annotator import Annotator
from hybridal.app.llm.answers import Said
from hybridal.app.llm.asking import Asked
from hybridal.app.llm.prompt import question
from hybridal.app.llm.routing import Guessed, Route, in_overlap, route, urgency
from hybridal.app.people.accounts import machine

_AT_ONCE = 500
_SHARED_RANK = -2000  # before all else, and for all the same: which of them people see first must not depend on the LLM
_PEOPLE = 3  # so many opinions make the alternative-annotator test a good one


def spent(session: Session) -> int:
    """The tokens of all answers so far, of any model."""
    return session.scalar(select(func.sum(LlmAnswer.tokens))) or 0


def outcomes(session: Session) -> dict[str, int]:
    """How many texts LLMs were asked for, how many answers could not be used, and how many are labels now."""
    asked = session.execute(select(func.count(), func.count(LlmAnswer.class_name)).select_from(LlmAnswer)).one()
    labels = session.scalar(select(func.count()).select_from(Verdict).where(Verdict.source == "llm")) or 0
    return {"asked": asked[0], "unusable": asked[0] - asked[1], "labels": labels}


def known(session: Session, llm: Annotator, body: str) -> Asked | None:
    """The answer to this question, if it was asked before: of another text with the same words, say."""
    kept = session.get(LlmAnswer, question(llm.name, llm.instructions.messages(body)))
    return None if kept is None else Asked(_said(kept), 0)


def record(session: Session, llm: Annotator, text: Text, asked: Asked) -> Route:
    """Keeps an answer, and makes it a label if the rule accepts it."""
    key = question(llm.name, llm.instructions.messages(text.body))
    kept = session.get(LlmAnswer, key)
    if kept is not None and kept.text_row != text.row:
        key = hashlib.sha256(f"{key}|{text.id}".encode()).hexdigest()
        kept = session.get(LlmAnswer, key)
    said = asked.said
    if kept is None:
        session.add(
            LlmAnswer(
                question=key,
                model=llm.name,
                text_row=text.row,
                class_name=said.class_name if said else None,
                confidence=said.confidence if said else None,
                reason=said.reason if said else asked.refused,
                tokens=asked.tokens,
            )
        )
        session.flush()
    way = route(llm.rule, said, _guess(session, text.row), is_shared(llm, text))
    if way == "accepted" and said is not None and session.get(Verdict, text.row) is None:
        person = machine(session, f"({llm.model})", "llm")
        try:
            own = f"llm:{key[:60]}"  # no page can draw such a key: it has a colon
            answer(session, person, text.id, "label", class_name=said.class_name, comment=said.reason, key=own)
        except MissingError:  # its class got another name while the LLM was thinking
            return "unusable"
    return way


def is_shared(llm: Annotator, text: Text) -> bool:
    """Whether people label this text whatever the LLM says, so that the two can be compared."""
    return text.split == "validation" or text.wanted > 1 or in_overlap(llm.rule, text.id)


def hand_over(session: Session, llm: Annotator) -> int:
    """Queues for people what the LLM was asked and did not settle. The trainer renews the queue: this adds to it."""
    left = session.execute(
        select(Text, LlmAnswer)
        .join(LlmAnswer, LlmAnswer.text_row == Text.row)
        .outerjoin(Queued, Queued.text_row == Text.row)
        .where(LlmAnswer.model == llm.name, Text.open, Text.split == "pool", Queued.text_row.is_(None))
        .order_by(Text.row)  # as everybody does who locks several
        .limit(_AT_ONCE)
    ).all()
    people = session.scalar(select(func.count()).where(Person.kind == "person", Person.active)) or 1
    for text, kept in left:
        rank = urgency(_said(kept))
        if in_overlap(llm.rule, text.id):
            rank = _SHARED_RANK
            _want(session, text, min(people, _PEOPLE))
        session.add(Queued(text_row=text.row, rank=rank, round=0))
    session.flush()
    return len(left)


def take_back(session: Session, llm: Annotator) -> int:
    """Withdraws labels of LLMs that the trained model has come to contradict: people get these texts."""
    doubted = session.execute(
        select(Person, Standing.text_row, Standing.answer_number)
        .join(Standing, Standing.person_number == Person.number)
        .join(Verdict, Verdict.text_row == Standing.text_row)
        .join(Guess, Guess.text_row == Standing.text_row)
        .where(Person.kind == "llm", Verdict.source == "llm", Guess.class_number != Standing.class_number)
        .where(Guess.probability >= llm.rule.contradiction)
        .limit(_AT_ONCE)
    ).all()
    lock_all(session, Text.row.in_([row for _, row, _ in doubted]))
    for person, row, number in doubted:
        withdraw(session, person, row, f"doubted:{number}")
    return len(doubted)


def _want(session: Session, text: Text, people: int) -> None:
    if text.wanted < people:
        text = locked(session, text.row)
        text.wanted = people
        text.open = is_open(people, [*stands(session, text).values()])


def _said(kept: LlmAnswer) -> Said | None:
    if kept.class_name is None or kept.confidence is None:
        return None
    return Said(kept.class_name, kept.confidence, kept.reason)


def _guess(session: Session, row: int) -> Guessed | None:
    found = session.execute(
        select(Class.name, Guess.probability)
        .join(Guess, Guess.class_number == Class.number)
        .where(Guess.text_row == row)
    ).first()
    return None if found is None else Guessed(found.name, found.probability)
