"""On which texts a second opinion is wanted."""

from __future__ import annotations

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from hybridal.app.db.connect import alone
from hybridal.app.db.schema import Text
from hybridal.randomness import stream


def draw(session: Session, share: float, seed: int) -> None:
    """Draws anew which texts two people shall label, among those that nobody has labelled yet."""
    alone(session)
    rows = session.execute(select(Text.row, Text.wanted).where(Text.open, Text.answered == 0).order_by(Text.row)).all()
    chosen = (stream(seed, "overlap", len(rows)).random(len(rows)) < share).tolist()
    changes = [
        {"row": row, "wanted": 1 + two} for (row, wanted), two in zip(rows, chosen, strict=True) if wanted != 1 + two
    ]
    if changes:
        session.execute(update(Text), changes)
