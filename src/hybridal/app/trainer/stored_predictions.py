"""What a model says of some texts, and where it is kept: the likeliest class in the database, all in a file."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from hybridal.acquisition.entropy import entropies
from hybridal.app.db.connect import durable_later
from hybridal.app.db.schema import Prediction, Text
from hybridal.app.labelling.classes import current, current_classes
from hybridal.app.labelling.texts import chunks
from hybridal.app.project import Project
from hybridal.core.outputs import Floats

PART = 100  # texts in a transaction
PAUSE = 0.02  # seconds between two of them at least: half of the time, and the database, belong to who waits


@dataclass(frozen=True)
class Scored:
    """The probabilities of texts by their ids: a row a text, a column for each number of `classes`."""

    ids: Sequence[str]
    probabilities: Floats
    classes: Sequence[int]

    @property
    def doubts(self) -> Floats:
        """The entropy of each."""
        return entropies(self.probabilities)


def keep_predictions(project: Project, round: int, scored: Scored) -> None:
    """Puts what the model of this round says in the place of what others said of these texts before."""
    with project.reads() as session:
        rows = rows_of(session, scored.ids)
    there = [place for place, id in enumerate(scored.ids) if id in rows]
    project.probabilities.begin({"classes": list(scored.classes)}, len(scored.classes))
    doubts = scored.doubts
    for part in chunks(there, PART):
        some, probabilities = [rows[scored.ids[place]] for place in part], scored.probabilities[part]
        # In the file first: what the database says is there, is there.
        project.probabilities.write(some, probabilities, [round + 1] * len(some))
        best, sure = probabilities.argmax(axis=1), probabilities.max(axis=1)
        begun = time.monotonic()
        with project.sessions.begin() as session:
            durable_later(session)  # what is lost is computed again
            # A text may have been deleted since, and a class merged or archived: also since the part before.
            still = (
                select(Text.row)
                .where(Text.row.in_(some), Text.deleted.is_(None))
                .with_for_update(read=True, key_share=True)
            )
            left, now = {*session.scalars(still)}, current_classes(session)
            shown = {one.number for one in current(session) if one.archived != "out"}
            said = [
                {
                    "text_row": row,
                    "class_number": now[scored.classes[best[at]]],
                    "probability": float(sure[at]),
                    "entropy": float(doubts[part[at]]),
                    "round": round,
                }
                for at, row in enumerate(some)
                if row in left
            ]
            session.execute(delete(Prediction).where(Prediction.text_row.in_(some)))
            if kept := [one for one in said if one["class_number"] in shown]:
                session.execute(insert(Prediction), kept)
        time.sleep(max(PAUSE, time.monotonic() - begun))


def rows_of(session: Session, ids: Sequence[str]) -> Mapping[str, int]:
    """The rows of texts by their ids; the ids that are not there, or deleted, are left out."""
    found: dict[str, int] = {}
    for some in chunks(list(dict.fromkeys(ids))):
        rows = select(Text.id, Text.row).where(Text.id.in_(some), Text.deleted.is_(None))
        found.update((id, row) for id, row in session.execute(rows))
    return found
