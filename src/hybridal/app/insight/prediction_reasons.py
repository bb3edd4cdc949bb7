"""Why the model predicts a class: words that speak for and against it, and similar texts with their labels."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Consensus, Explanation, Prediction, Text, Vote, now
from hybridal.app.insight.ranking import nearest_among
from hybridal.app.labelling.consensus import lock_text
from hybridal.app.labelling.learnt_predictions import FROM_LABELS
from hybridal.app.project import Project

MAX_SIMILAR = 3
RENEW_SECONDS = 5.0  # how often the time of a request is written again while a page waits


def words_of(session: Session, text: Text) -> Explanation | None:
    """The explanation of a text's prediction by the newest model; requests it if there is none.

    Args:
        session: A session that may write.
        text: The text.

    Returns:
        The explanation; its `round` is None while it is waiting. None if no model that has learnt labels predicts the
        text.
    """
    predicted = session.scalar(select(Prediction.round).where(FROM_LABELS, Prediction.text_row == text.row))
    if predicted is None:
        return None
    found = session.get(Explanation, text.row)
    if found is None or _is_stale(found, predicted):
        lock_text(session, text.row)
        found = session.get(Explanation, text.row, populate_existing=True)
    if found is None:
        found = Explanation(text_row=text.row, asked=now())
        session.add(found)
    elif _is_stale(found, predicted):
        found.asked, found.round, found.found = now(), None, None
    return found


def _is_stale(found: Explanation, predicted: int) -> bool:
    """Whether an older model is explained than has predicted, or the request has to be renewed."""
    return now() - found.asked >= RENEW_SECONDS if found.round is None else found.round < predicted


def similar_labelled(session: Session, project: Project, text: Text, by: int | None) -> dict[int, float] | None:
    """The rows of the labelled texts most similar to a text, with their similarity.

    Args:
        session: A session of the project.
        project: The project.
        text: The text.
        by: Number of a person; only texts that they have labelled, so that people label independently.

    Returns:
        The most similar first; None if the trainer has not read the text yet.
    """
    labelled = select(Consensus.text_row)
    if by is not None:
        labelled = select(Vote.text_row).where(
            Vote.person_number == by, Vote.class_number.is_not(None) | Vote.label_set.is_not(None)
        )
    return nearest_among(project, text.row, text.digest, [*session.scalars(labelled)], MAX_SIMILAR)


def utf16_spans(text: str, spans: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Convert positions in a text into UTF-16 code units, in which browsers count.

    >>> utf16_spans("😀 ok", [[2, 4]])
    [(3, 5)]
    """

    def units(at: int) -> int:
        return at + sum(sign > "\uffff" for sign in text[:at])

    return [(units(start), units(end)) for start, end in spans]
