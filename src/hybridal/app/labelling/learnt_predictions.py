"""Distinguish predictions of a model that has learnt labels from those by class names and descriptions alone."""

from __future__ import annotations

from sqlalchemy import exists, or_, select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Prediction, Trainer

# A condition on a prediction. The first model to learn labels still predicts for round 0, until its round is complete.
FROM_LABELS = or_(Prediction.round > 0, exists(select(Trainer.number).where(Trainer.learnt_annotation > 0)))


def are_from_names(session: Session) -> bool:
    """Whether there are predictions, by a model that has learnt no label yet."""
    if session.get_one(Trainer, 1).learnt_annotation:
        return False
    return bool(session.scalar(select(exists().where(Prediction.round == 0))))
