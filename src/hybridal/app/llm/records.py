"""What the LLM said: cached, made a label or queued for people, and compared with them."""

from __future__ import annotations

import hashlib

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.app_errors import MissingError
from hybridal.app.db.schema import Class, Consensus, LlmAnswer, Person, Prediction, QueuedText, Text, Vote
from hybridal.app.labelling.annotations import annotate, withdraw
from hybridal.app.labelling.consensus import is_open, lock_text, lock_texts, votes_on
from hybridal.app.llm.annotator import LlmAnnotator, ModelPrediction, Route, in_overlap, route, urgency
from hybridal.app.llm.llm_client import LlmResult
from hybridal.app.llm.prompt import LlmLabel, cache_key
from hybridal.app.people import machine_annotator

_AT_ONCE = 500
_SHARED_RANK = -2000  # before all else, and for all the same: which of them people see first must not depend on the LLM
_PEOPLE = 3  # so many opinions make the alternative-annotator test a good one


def spent_tokens(session: Session) -> int:
    """The tokens of all answers so far, of any model."""
    return session.scalar(select(func.sum(LlmAnswer.tokens))) or 0


def llm_counts(session: Session) -> dict[str, int]:
    """How many texts LLMs were asked for, how many answers could not be used, and how many are labels now."""
    asked = session.execute(select(func.count(), func.count(LlmAnswer.class_name)).select_from(LlmAnswer)).one()
    labels = session.scalar(select(func.count()).select_from(Consensus).where(Consensus.source == "llm")) or 0
    return {"asked": asked[0], "unusable": asked[0] - asked[1], "labels": labels}


def cached_result(session: Session, llm: LlmAnnotator, body: str) -> LlmResult | None:
    """The answer to this question, if it was asked before: of another text with the same words, say.

    Where there is no label, the reason that is kept is why the server refused the text, if it did.
    """
    kept = session.get(LlmAnswer, cache_key(llm.name, llm.instructions.messages(body)))
    if kept is None:
        return None
    label = _label_of(kept)
    return LlmResult(label, 0, refused="" if label else kept.reason)


def record_result(session: Session, llm: LlmAnnotator, text: Text, asked: LlmResult) -> Route:
    """Keeps an answer, and makes it a label if the rule accepts it."""
    key = cache_key(llm.name, llm.instructions.messages(text.body))
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
    way = route(llm.rule, said, _prediction_of(session, text.row), is_shared(llm, text))
    if way == "accepted" and said is not None and session.get(Consensus, text.row) is None:
        person = machine_annotator(session, f"({llm.model})", "llm")
        try:
            own = f"llm:{key[:60]}"  # no page can draw such a key: it has a colon
            annotate(session, person, text.id, "label", class_name=said.class_name, comment=said.reason, key=own)
        except MissingError:  # its class got another name while the LLM was thinking
            return "unusable"
    return way


def is_shared(llm: LlmAnnotator, text: Text) -> bool:
    """Whether people label this text whatever the LLM says, so that the two can be compared."""
    return text.split == "validation" or text.wanted > 1 or in_overlap(llm.rule, text.id)


def queue_for_people(session: Session, llm: LlmAnnotator) -> int:
    """Queues for people what the LLM was asked and did not settle. The trainer renews the queue: this adds to it."""
    left = session.execute(
        select(Text, LlmAnswer)
        .join(LlmAnswer, LlmAnswer.text_row == Text.row)
        .outerjoin(QueuedText, QueuedText.text_row == Text.row)
        .where(LlmAnswer.model == llm.name, Text.open, Text.split == "pool", QueuedText.text_row.is_(None))
        .order_by(Text.row)  # as everybody does who locks several
        .limit(_AT_ONCE)
    ).all()
    people = session.scalar(select(func.count()).where(Person.kind == "person", Person.active)) or 1
    for text, kept in left:
        rank = urgency(_label_of(kept))
        if in_overlap(llm.rule, text.id):
            rank = _SHARED_RANK
            _want(session, text, min(people, _PEOPLE))
        session.add(QueuedText(text_row=text.row, rank=rank, round=0))
    session.flush()
    return len(left)


def withdraw_contradicted(session: Session, llm: LlmAnnotator) -> int:
    """Withdraws labels of LLMs that the trained model has come to contradict: people get these texts."""
    doubted = session.execute(
        select(Person, Vote.text_row, Vote.annotation_number)
        .join(Vote, Vote.person_number == Person.number)
        .join(Consensus, Consensus.text_row == Vote.text_row)
        .join(Prediction, Prediction.text_row == Vote.text_row)
        .where(Person.kind == "llm", Consensus.source == "llm", Prediction.class_number != Vote.class_number)
        .where(Prediction.probability >= llm.rule.contradiction)
        .limit(_AT_ONCE)
    ).all()
    lock_texts(session, Text.row.in_([row for _, row, _ in doubted]))
    for person, row, number in doubted:
        withdraw(session, person, row, f"doubted:{number}")
    return len(doubted)


def _want(session: Session, text: Text, people: int) -> None:
    if text.wanted < people:
        text = lock_text(session, text.row)
        text.wanted = people
        text.open = is_open(people, [*votes_on(session, text).values()])


def _label_of(kept: LlmAnswer) -> LlmLabel | None:
    if kept.class_name is None or kept.confidence is None:
        return None
    return LlmLabel(kept.class_name, kept.confidence, kept.reason)


def _prediction_of(session: Session, row: int) -> ModelPrediction | None:
    found = session.execute(
        select(Class.name, Prediction.probability)
        .join(Prediction, Prediction.class_number == Class.number)
        .where(Prediction.text_row == row)
    ).first()
    return None if found is None else ModelPrediction(found.name, found.probability)
