"""Whether the model's probabilities can be believed: how sure it was of validation texts, and how often right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Guess, Text, Verdict

BINS = 10


def calibration(guesses: Iterable[tuple[float, bool]], bins: int = BINS) -> list[dict[str, Any]]:
    """Bins of equal width of how sure it was, open below and closed above; guesses are (probability, right).

    >>> calibration([(0.6, True), (0.9, True), (0.8, False)], bins=2)[1]
    {'low': 0.5, 'high': 1.0, 'confidence': 0.7666666666666666, 'accuracy': 0.6666666666666666, 'n': 3}
    """
    members: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    edges = [bin / bins for bin in range(bins + 1)]
    for sure, right in guesses:
        place = sum(sure > edge for edge in edges[1:-1])
        members[place].append((sure, right))
    return [
        {
            "low": low,
            "high": high,
            "confidence": sum(sure for sure, _ in inside) / max(1, len(inside)),
            "accuracy": sum(right for _, right in inside) / max(1, len(inside)),
            "n": len(inside),
        }
        for low, high, inside in zip(edges, edges[1:], members, strict=False)
    ]


def measured(session: Session) -> list[tuple[float, bool]]:
    """The newest model's guesses of validation texts, which it never learns, against what people say now."""
    found = (
        select(Guess.probability, Guess.class_number == Verdict.class_number)
        .join(Verdict, Verdict.text_row == Guess.text_row)
        .join(Text, Text.row == Guess.text_row)
        .where(Text.split == "validation")
    )
    return [(sure, bool(right)) for sure, right in session.execute(found)]
