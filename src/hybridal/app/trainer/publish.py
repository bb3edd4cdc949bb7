"""What a new model has to say, brought to the people: the old queue or the new one, never half.

Guesses come first, in small parts with pauses: who labels meanwhile waits for one part at most.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Guess, Queued, Text
from hybridal.app.labelling.texts import chunks
from hybridal.app.project import Project
from hybridal.app.trainer.chapter import Opinion
from hybridal.app.trainer.snapshot import meanings
from hybridal.app.trainer.status import settle, write

PART = 100
PAUSE = 0.02  # seconds: in SQLite, whoever waits gets in here


def publish(
    project: Project,
    round: int,
    queue: Sequence[str],
    opinions: Iterable[Opinion],
    seen: int | None = None,
    asked: str = "",
    phase: str = "waiting",
) -> None:
    """Replaces queue and guesses by those of this round's model, which has learnt from all answers up to `seen`."""
    thought = {opinion.id: opinion for opinion in opinions}
    with project.reads() as session:
        rows = rows_of(session, [*queue, *thought])
        now = meanings(session)  # classes may have been merged while the model trained
    queued = [{"text_row": rows[id], "rank": rank, "round": round} for rank, id in enumerate(queue) if id in rows]
    guesses = [
        {
            "text_row": rows[id],
            "class_number": now[opinion.class_number],
            "probability": opinion.probability,
            "entropy": opinion.entropy,
            "round": round,
        }
        for id, opinion in thought.items()
        if id in rows
    ]
    learnt = {} if seen is None else {"seen": seen}
    for part in chunks(guesses, PART):
        with project.sessions.begin() as session:
            session.execute(delete(Guess).where(Guess.text_row.in_([guess["text_row"] for guess in part])))
            session.execute(insert(Guess), part)
        time.sleep(PAUSE)
    with project.sessions.begin() as session:
        session.execute(delete(Guess).where(Guess.round != round))
        session.execute(delete(Queued))
        if queued:
            session.execute(insert(Queued), queued)
        write(session, phase=phase, round=round, done=0, total=0, seconds_left=None, error="", **learnt)
        settle(session, asked)


def published_round(session: Session) -> int:
    """The round whose model filled the queue; 0 where it is empty. What others put before it has a negative rank."""
    return session.scalar(select(func.max(Queued.round)).where(Queued.rank >= 0)) or 0


def rows_of(session: Session, ids: Sequence[str]) -> Mapping[str, int]:
    """The rows of texts by their ids; the ids that are not there are left out."""
    found: dict[str, int] = {}
    for some in chunks(list(dict.fromkeys(ids))):
        found.update((id, row) for id, row in session.execute(select(Text.id, Text.row).where(Text.id.in_(some))))
    return found
