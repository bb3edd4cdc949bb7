"""Store the language model's answers: cache them, turn them into labels, or queue their texts for people."""

from __future__ import annotations

import hashlib
from typing import Any

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from hybridal.annotators.llm.ask_label import LlmResult
from hybridal.annotators.llm.prompt import LlmLabel, cache_key
from hybridal.annotators.team import in_overlap
from hybridal.app.app_errors import MissingError
from hybridal.app.db.schema import (
    Class,
    Consensus,
    LabelSet,
    LabelSetClass,
    LlmAnswer,
    Person,
    Prediction,
    QueuedText,
    Text,
    Vote,
)
from hybridal.app.labelling.annotations import annotate, withdraw
from hybridal.app.labelling.consensus import is_open, lock_text, lock_texts, votes_on
from hybridal.app.labelling.learnt_predictions import FROM_LABELS
from hybridal.app.labelling.llm_answers import is_shared
from hybridal.app.llm.annotator import ModelPrediction, PromptedModel, Route, queue_rank, route
from hybridal.app.people import machine_annotator
from hybridal.tasks.label_cells import json_list, write_cell

_ROWS_PER_TRANSACTION = 500
_SHARED_RANK = -2000  # first of all, and the same for all: the LLM's answer must not influence which of them come first
_PEOPLE_PER_SHARED_TEXT = 3  # recommended for the alternative-annotator test


def spent_tokens(session: Session) -> int:
    """The tokens spent so far on all models."""
    return session.scalar(select(func.sum(LlmAnswer.tokens))) or 0


def llm_counts(session: Session) -> dict[str, int]:
    """The numbers of texts sent to LLMs, of unusable answers, and of current labels by LLMs."""
    asked = session.execute(select(func.count(), func.count(LlmAnswer.class_name)).select_from(LlmAnswer)).one()
    labels = session.scalar(select(func.count()).select_from(Consensus).where(Consensus.source == "llm")) or 0
    return {"asked": asked[0], "unusable": asked[0] - asked[1], "labels": labels}


def cached_result(session: Session, llm: PromptedModel, body: str) -> LlmResult | None:
    """The stored answer to the same request, for example for another text with the same content.

    Without a label, the stored reason says why the server refused the text, if it did.
    """
    stored = session.get(LlmAnswer, cache_key(llm.name, llm.instructions.messages(body)))
    if stored is None:
        return None
    label = label_of(stored, llm)
    return LlmResult(label, 0, refused="" if label else stored.reason)


def record_result(session: Session, llm: PromptedModel, text: Text, result: LlmResult) -> Route:
    """Store an answer, and make it a label if the rule accepts it."""
    key = cache_key(llm.name, llm.instructions.messages(text.body))
    stored = session.get(LlmAnswer, key)
    if stored is not None and stored.text_row != text.row:
        key = hashlib.sha256(f"{key}|{text.id}".encode()).hexdigest()
        stored = session.get(LlmAnswer, key)
    label = result.label
    if stored is None:
        session.add(
            LlmAnswer(
                question=key,
                model=llm.name,
                text_row=text.row,
                class_name=write_cell(label.answer) if label else None,
                confidence=label.confidence if label else None,
                reason=label.reason if label else result.refused,
                tokens=result.tokens,
            )
        )
        session.flush()
    decision = route(llm.rule, label, _prediction_of(session, text.row), is_shared(llm.rule, text))
    if decision == "accepted" and label is not None and not _is_settled(session, text.row):
        person = machine_annotator(session, f"({llm.model})", "llm")
        try:
            own = f"llm:{key[:60]}"  # keys of clients never contain a colon
            several = isinstance(label.answer, frozenset)
            given: dict[str, Any] = {"class_names": sorted(label.answer)} if several else {"class_name": label.answer}
            annotate(session, person, text.id, "label", comment=label.reason, key=own, drawn="llm", **given)
        except MissingError:  # the class was renamed or deleted meanwhile
            return "unusable"
    return decision


def _is_settled(session: Session, row: int) -> bool:
    """Whether a text has a label that decides all classes."""
    found = session.get(Consensus, row)
    if found is None or found.label_set is None:
        return found is not None
    return session.get_one(LabelSet, found.label_set).classes.is_whole


def queue_for_people(session: Session, llm: PromptedModel) -> int:
    """Queue texts for people that the LLM answered without a label; the trainer replaces the queue after each round."""
    left = session.execute(
        select(Text, LlmAnswer)
        .join(LlmAnswer, LlmAnswer.text_row == Text.row)
        .outerjoin(QueuedText, QueuedText.text_row == Text.row)
        .where(LlmAnswer.model == llm.name, Text.open, Text.split == "pool", QueuedText.text_row.is_(None))
        .order_by(Text.row)  # the common locking order, to avoid deadlocks
        .limit(_ROWS_PER_TRANSACTION)
    ).all()
    people = session.scalar(select(func.count()).where(Person.kind == "person", Person.active)) or 1
    for text, answer in left:
        rank = queue_rank(label_of(answer, llm))
        if in_overlap(text.id, llm.rule.overlap):
            rank = _SHARED_RANK
            _request_people(session, text, min(people, _PEOPLE_PER_SHARED_TEXT))
        session.add(QueuedText(text_row=text.row, rank=rank, round=0))
    session.flush()
    return len(left)


def withdraw_contradicted(session: Session, llm: PromptedModel) -> int:
    """Withdraw labels of LLMs that the trained model contradicts by now, so that people get these texts."""
    of_set = select(LabelSetClass).where(LabelSetClass.set_number == Vote.label_set)
    of_set = of_set.where(LabelSetClass.class_number == Prediction.class_number, LabelSetClass.present.is_(True))
    contradicted = session.execute(
        select(Person, Vote.text_row, Vote.annotation_number)
        .join(Vote, Vote.person_number == Person.number)
        .join(Consensus, Consensus.text_row == Vote.text_row)
        .join(Prediction, Prediction.text_row == Vote.text_row)
        .where(Person.kind == "llm", Consensus.source == "llm")
        .where(or_(Prediction.class_number != Vote.class_number, Vote.label_set.is_not(None) & ~of_set.exists()))
        .where(FROM_LABELS, Prediction.probability >= llm.rule.contradiction)
        .limit(_ROWS_PER_TRANSACTION)
    ).all()
    lock_texts(session, Text.row.in_([row for _, row, _ in contradicted]))
    for person, row, number in contradicted:
        withdraw(session, person, row, f"doubted:{number}")
    return len(contradicted)


def _request_people(session: Session, text: Text, people: int) -> None:
    """Require labels of this many people for a text."""
    if text.required_votes < people:
        text = lock_text(session, text.row)
        text.required_votes = people
        text.open = is_open(people, [*votes_on(session, text).values()])


def label_of(answer: LlmAnswer, llm: PromptedModel) -> LlmLabel | None:
    """The label of a stored answer of this annotator; None if it was not usable."""
    if answer.class_name is None or answer.confidence is None:
        return None
    given: Any = json_list(answer.class_name) if llm.instructions.several else answer.class_name
    return LlmLabel(given, answer.confidence, answer.reason)


def _prediction_of(session: Session, row: int) -> ModelPrediction | None:
    found = session.execute(
        select(Class.name, Prediction.probability)
        .join(Prediction, Prediction.class_number == Class.number)
        .where(FROM_LABELS, Prediction.text_row == row)
    ).first()
    return None if found is None else ModelPrediction(found.name, found.probability)
