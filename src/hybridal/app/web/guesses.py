"""What the model thinks of some texts."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Class, Guess, Text
from hybridal.app.web.shapes import Guessed, Item


def guesses(session: Session, rows: Sequence[int]) -> dict[int, Guessed]:
    """By the row of the text; none for those that no model has seen."""
    found = session.execute(
        select(Guess.text_row, Class.name, Guess.probability)
        .join(Class, Class.number == Guess.class_number)
        .where(Guess.text_row.in_(rows))
    )
    return {row: Guessed(class_=name, probability=probability) for row, name, probability in found}


def items(session: Session, texts: Sequence[Text], show_guesses: bool) -> list[Item]:
    """Texts to label, with guesses where people may see them."""
    known = guesses(session, [text.row for text in texts]) if show_guesses else {}
    return [Item(id=text.id, text=text.body, split=text.split, guess=known.get(text.row)) for text in texts]
