"""What deserves a second look: texts that the model is in doubt about, and labels that it doubts."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from hybridal.app.db.schema import Class, Guess, Text, Verdict

SURE = 0.5  # more probable than all other classes together


def doubts(session: Session, limit: int = 50) -> dict[str, list[dict[str, Any]]]:
    """The most doubtful texts without a label, and the labels that the newest model contradicts most surely.

    Pool texts are judged by a model that has learnt their labels: what it contradicts all the same, it could not fit
    to its other labels, so few of them are false alarms, but errors that it has learnt by heart are missed. Of
    validation texts it has learnt nothing.
    """
    return {"doubtful": doubtful(session, limit), "contradicted": contradicted(session, limit)}


def doubtful(session: Session, limit: int) -> list[dict[str, Any]]:
    """The unlabelled texts of the highest entropy, of those that the model scored; not where people disagree."""
    found = (
        select(Text.id, Text.body, Class.name, Guess.probability, Guess.entropy)
        .join(Guess, Guess.text_row == Text.row)
        .join(Class, Class.number == Guess.class_number)
        .outerjoin(Verdict, Verdict.text_row == Text.row)
        .where(Verdict.text_row.is_(None), Text.answered < 2)
        .order_by(Guess.entropy.desc(), Text.row)
        .limit(limit)
    )
    names = ("id", "text", "guess", "probability", "entropy")
    return [dict(zip(names, row, strict=True)) for row in session.execute(found)]


def contradicted(session: Session, limit: int) -> list[dict[str, Any]]:
    """The labelled texts that the model holds to be of another class, the surest first; not what somebody decided."""
    given, guessed = aliased(Class), aliased(Class)
    found = (
        select(Text.id, Text.body, given.name, guessed.name, Guess.probability)
        .join(Verdict, Verdict.text_row == Text.row)
        .join(Guess, Guess.text_row == Text.row)
        .join(given, given.number == Verdict.class_number)
        .join(guessed, guessed.number == Guess.class_number)
        .where(Guess.class_number != Verdict.class_number, Guess.probability >= SURE, Verdict.source != "adjudicated")
        .order_by(Guess.probability.desc(), Text.row)
        .limit(limit)
    )
    names = ("id", "text", "class", "guess", "probability")
    return [dict(zip(names, row, strict=True)) for row in session.execute(found)]
