"""Predictions of a model: the likeliest class goes to the database, all probabilities to a file.

If a text may have several classes, the decided set goes to the database too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session

from hybridal.acquisition.entropy import entropies
from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.connect import durable_later
from hybridal.app.db.schema import Class, Prediction, Text
from hybridal.app.labelling.classes import current, current_classes
from hybridal.app.labelling.stored_class_sets import store_sets
from hybridal.app.labelling.texts import chunks
from hybridal.app.project import Project
from hybridal.core.outputs import Floats

PART = 100  # texts per transaction
PAUSE = 0.02  # minimum seconds between two; half of the time the database is free for requests


@dataclass(frozen=True)
class ScoredTexts:
    """Class probabilities: a row per text, in the order of `ids`, and a column per class number.

    Attributes:
        ids: Ids of the texts.
        probabilities: (N, C) probabilities.
        classes: Class numbers, in the order of the columns.
        thresholds: If a text may have several classes: the probability from which each is given.
    """

    ids: Sequence[str]
    probabilities: Floats
    classes: Sequence[int]
    thresholds: Sequence[float] = ()

    @property
    def doubts(self) -> Floats:
        """The entropy of each; if a text may have several classes, of all decisions."""
        found = entropies(self.probabilities)
        return found + entropies(1 - self.probabilities) if self.thresholds else found

    def given(self, rows: Sequence[int]) -> list[ClassSet]:
        """The sets of classes whose probabilities reach their thresholds."""
        reached = self.probabilities[rows] >= np.array(self.thresholds)
        return [ClassSet.of(self.classes[column] for column in np.flatnonzero(row).tolist()) for row in reached]


def keep_predictions(project: Project, round: int, scored: ScoredTexts) -> None:
    """Replace the stored predictions of these texts by those of this round's model."""
    with project.reads() as session:
        rows = rows_of(session, scored.ids)
    there = [place for place, id in enumerate(scored.ids) if id in rows]
    project.probabilities.begin({"classes": list(scored.classes)}, len(scored.classes))
    doubts = scored.doubts
    for part in chunks(there, PART):
        some, probabilities = [rows[scored.ids[place]] for place in part], scored.probabilities[part]
        # The file first: a row in the database implies probabilities in the file.
        project.probabilities.write(some, probabilities, [round + 1] * len(some))
        begun = time.monotonic()
        with project.sessions.begin() as session:
            durable_later(session)  # predictions that are lost are computed again
            # Meanwhile a text may have been deleted, or a class merged or archived.
            still = (
                select(Text.row)
                .where(Text.row.in_(some), Text.deleted.is_(None))
                .with_for_update(read=True, key_share=True)
            )
            left, now = {*session.scalars(still)}, current_classes(session)
            shown = {one.number for one in current(session) if one.archived != "out"}
            sets = _stored_sets(session, scored, part, now, shown)
            if sets:  # without a class that was archived, the others are still predicted
                there_now = [now[number] in shown for number in scored.classes]
                probabilities = np.where(there_now, probabilities, -1.0)
            best, sure = probabilities.argmax(axis=1), probabilities.max(axis=1)
            predictions = [
                {
                    "text_row": row,
                    "class_number": now[scored.classes[best[at]]],
                    "label_set": sets[at] if sets else None,
                    "probability": float(sure[at]),
                    "entropy": float(doubts[part[at]]),
                    "round": round,
                }
                for at, row in enumerate(some)
                if row in left
            ]
            session.execute(delete(Prediction).where(Prediction.text_row.in_(some)))
            if kept := [one for one in predictions if one["class_number"] in shown]:
                session.execute(insert(Prediction), kept)
        time.sleep(max(PAUSE, time.monotonic() - begun))


def _stored_sets(
    session: Session, scored: ScoredTexts, part: Sequence[int], now: Mapping[int, int], shown: Set[int]
) -> list[int]:
    """The numbers of the decided sets of some texts, of classes that are shown; empty if a text has one class."""
    if not scored.thresholds:
        return []
    gone = {*now.values()} - shown
    given = [one.renamed(now, gone) for one in scored.given(part)]
    numbers = store_sets(session, given)
    return [numbers[one] for one in given]


def write_thresholds(session: Session, scored: ScoredTexts) -> None:
    """Store from which probability the model gives each class."""
    for number, threshold in zip(scored.classes, scored.thresholds, strict=False):
        session.execute(update(Class).where(Class.number == number).values(threshold=threshold))


def rows_of(session: Session, ids: Sequence[str]) -> Mapping[str, int]:
    """Map ids to rows; unknown ids and deleted texts are left out."""
    found: dict[str, int] = {}
    for some in chunks(list(dict.fromkeys(ids))):
        rows = select(Text.id, Text.row).where(Text.id.in_(some), Text.deleted.is_(None))
        found.update((id, row) for id, row in session.execute(rows))
    return found
