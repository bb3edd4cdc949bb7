"""The trainer: what it does, and what is asked of it."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from sqlalchemy import case, func, select, update
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Text, Trainer, Verdict
from hybridal.app.errors import ForbiddenError
from hybridal.app.people.accounts import may
from hybridal.app.settings import read
from hybridal.app.web.access import Annotator, Opened
from hybridal.app.web.shapes import Done, Shape

router = APIRouter(prefix="/api")

_MANY = 10_000
"""Nobody needs to know more exactly how many labels are new."""


class TrainerShape(Shape):
    """What the trainer does now, and how many of the needed labels there are for its next update."""

    phase: str
    update: str
    round: int
    done: int
    total: int
    seconds_left: float | None
    error: str
    asked: str
    beat: float
    new_labels: int
    needed: int


class Wish(Shape):
    """What somebody wants of it."""

    asked: Literal["train", "retry", "predict"]


@router.get("/trainer")
def trainer(_: Annotator, project: Opened) -> TrainerShape:
    """The bar at the top of every page."""
    with project.reads() as session:
        row = session.get_one(Trainer, 1)
        new, needed = (row.done, row.total) if row.phase == "waiting" else _labels(session, row)
    names = ("phase", "update", "round", "done", "total", "seconds_left", "error", "asked", "beat")
    return TrainerShape(**{name: getattr(row, name) for name in names}, new_labels=new, needed=needed)


@router.post("/trainer")
def ask(wish: Wish, visitor: Annotator, project: Opened) -> Done:
    """Asks it to train now, to try again, or to score all texts."""
    if wish.asked == "predict" and not may(visitor.person, "reviewer"):
        raise ForbiddenError("Only a reviewer may ask for predictions.")
    with project.sessions.begin() as session:
        session.execute(update(Trainer).where(Trainer.number == 1).values(asked=wish.asked))
    return Done()


def _labels(session: Session, row: Trainer) -> tuple[int, int]:
    """How many labels are new while it is busy; when it waits, it says so itself."""
    new = select(Verdict.text_row).where(Verdict.changed > row.seen).order_by(Verdict.changed).limit(_MANY)
    # Not `split == "pool"`, for which SQLite would go through all texts of the pool.
    pool = func.sum(case((Text.split == "pool", 1), else_=0))
    return session.scalar(select(pool).where(Text.row.in_(new))) or 0, int(read(session)["batch"])
