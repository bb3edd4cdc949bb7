"""Explain the predictions of texts on people's screens: which words speak for and against them."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from sqlalchemy import delete, select, update

from hybridal.app.db.schema import Explanation, Prediction, Text, now
from hybridal.app.project import Project
from hybridal.app.trainer.chapter import Chapter
from hybridal.app.trainer.embeddings import read_texts
from hybridal.measures.occlusion import Occlusion

MAX_CLASSES = 5  # most probable classes that are explained
DIGITS = 3
OUTDATED_SECONDS = 600.0  # a request of a page that is no longer open, as it has not been renewed
log = logging.getLogger(__name__)


def explain(project: Project, chapter: Chapter | None, row: int) -> None:
    """Explain the prediction of a text, and compute its embedding, which the search for similar texts needs.

    The request is answered in any case, so that no trainer starts for it again; those that are not renewed are removed.

    Args:
        project: The project.
        chapter: The chapter of the model; None if there is no model.
        row: The row of the text.
    """
    with project.sessions.begin() as session:
        old = now() - OUTDATED_SECONDS
        session.execute(delete(Explanation).where(Explanation.round.is_(None), Explanation.asked < old))
    with project.reads() as session:
        texts = session.execute(select(Text.row, Text.id, Text.body, Text.digest).where(Text.row == row)).all()
    found = None
    if chapter is not None and texts:
        try:
            read_texts(project, chapter, texts)
            found = as_json(chapter.learner.explain(texts[0].body), chapter)
        except Exception:  # it must not stop the trainer
            log.exception("The text %s could not be explained.", texts[0].id)
    with project.sessions.begin() as session:
        predicted = session.scalar(select(Prediction.round).where(Prediction.text_row == row)) or 0
        round = max(predicted, 0 if chapter is None else chapter.round)
        session.execute(update(Explanation).where(Explanation.text_row == row).values(round=round, found=found))


def as_json(found: Occlusion, chapter: Chapter) -> dict[str, Any]:
    """The spans of the words, and their weights for the most probable classes, by class number."""
    likeliest = np.argsort(-found.probabilities, kind="stable")[:MAX_CLASSES].tolist()
    return {
        "spans": [list(span) for span in found.spans],
        "classes": [
            {
                "number": chapter.spec.classes[column],
                "probability": round(float(found.probabilities[column]), DIGITS),
                "weights": found.weights[:, column].round(DIGITS).tolist(),
            }
            for column in likeliest
        ],
    }
