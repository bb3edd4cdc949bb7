"""Draw texts at random from all that are not labelled yet, and set them aside for validation."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from hybridal.app.db.connect import exclusive
from hybridal.app.db.schema import Annotation, Person, QueuedText, Text, Vote
from hybridal.app.labelling.annotations import withdraw
from hybridal.app.labelling.consensus import counts, lock_texts
from hybridal.app.labelling.texts import chunks, record_draw, reserve, reserved
from hybridal.app.project_settings import read, write
from hybridal.randomness import stream


def grow_reserve(session: Session, settings: Mapping[str, Any]) -> None:
    """Set more texts aside for validation when the plan needs more than there are.

    A plan that needs fewer gives none back: the queue asks for no more of them than the plan wants, and a later rise
    uses them again.
    """
    exclusive(session)
    set_aside(session, settings, reserve(counts(session)["texts"], settings) - reserved(session))


def draw_labels(session: Session, n: int) -> int:
    """Let people be asked next for n more random labels; return how many texts were drawn for that.

    Texts that were drawn before and not seen yet come first. As many more are set aside as it takes, and
    the queue asks for them before all others.
    """
    exclusive(session)
    seen = select(Annotation.text_row).join(Person).where(Person.kind != "llm")
    unseen = (Text.split == "validation", Text.deleted.is_(None), Text.row.not_in(seen))
    waiting = session.scalar(select(func.count()).select_from(Text).where(*unseen)) or 0
    drawn = set_aside(session, read(session), n - waiting)
    write(session, {"random_labels": counts(session)["validation"] + min(n, waiting + drawn)})
    return drawn


def set_aside(session: Session, settings: Mapping[str, Any], n: int) -> int:
    """Draw texts at random and set them aside for validation, so that people are asked for them; return how many.

    They are drawn from all texts that no person and no file has annotated. Those that the model has queued, that
    are on a screen or that a language model has labelled can be drawn like all others; without them the labels would
    be no random sample. Labels by a language model are withdrawn, because validation never uses them.
    """
    exclusive(session)
    frame = never_annotated(session)
    order = stream(settings["seed"], "reserve", reserved(session)).permutation(len(frame))
    rows = [frame[at] for at in order[: max(0, n)].tolist()]
    put_aside(session, rows, len(frame))
    return len(rows)


def never_annotated(session: Session) -> list[int]:
    """The rows of the pool that no person and no file has annotated."""
    annotated = select(Annotation.text_row).join(Person).where(Person.kind != "llm")
    unknown = select(Text.row).where(Text.split == "pool", Text.deleted.is_(None), Text.row.not_in(annotated))
    return [*session.scalars(unknown.order_by(Text.row))]


def put_aside(session: Session, rows: Sequence[int], frame: int) -> None:
    """Put texts aside that were drawn at random from `frame` texts of the pool."""
    if not rows:
        return
    draw = record_draw(session, frame=frame, size=len(rows), upload=False)
    for part in chunks(rows):
        lock_texts(session, Text.row.in_(part))
        machines = select(Vote.text_row, Person).join(Person).where(Vote.text_row.in_(part), Person.kind == "llm")
        for row, machine in session.execute(machines).all():
            withdraw(session, machine, row, f"drawn:{secrets.token_hex(8)}")
        aside = update(Text).where(Text.row.in_(part)).values(split="validation", draw=draw.number)
        session.execute(aside.execution_options(synchronize_session=False))
        session.execute(delete(QueuedText).where(QueuedText.text_row.in_(part)))
    session.expire_all()
