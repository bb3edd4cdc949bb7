"""Which texts the LLM is asked next."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Select, or_, select
from sqlalchemy.orm import Session

from hybridal.app.db.schema import Lease, LlmAnswer, Queued, Standing, Text, now
from hybridal.app.llm.annotator import Annotator


def candidates(session: Session, llm: Annotator, n: int) -> list[Text]:
    """Up to n texts that it has not seen.

    First those on which it can be compared with people; then what the trained model wants labelled; then anything.
    A text in somebody's hands is left to them.
    """
    found: dict[int, Text] = {}
    for source in _sources(llm):
        if len(found) < n:
            unseen = source.where(Text.id.not_in(llm.shown)).limit(n)
            found |= {text.row: text for text in session.scalars(unseen)}
    return [*found.values()][:n]


def _sources(llm: Annotator) -> Iterator[Select[Text]]:
    seen = select(LlmAnswer).where(LlmAnswer.text_row == Text.row, LlmAnswer.model == llm.name)
    unseen = select(Text).where(~seen.exists())
    # Validation texts are only shown to it once people labelled them: nothing else would come of its answers.
    labelled = select(Standing.text_row).where(Standing.class_number.is_not(None))
    yield unseen.where(Text.row.in_(labelled), or_(Text.split == "validation", Text.wanted > 1), Text.answered > 0)
    held = select(Lease).where(Lease.text_row == Text.row, Lease.until > now())
    free = unseen.where(Text.open, Text.answered == 0, Text.split == "pool", ~held.exists())
    yield free.join(Queued, Queued.text_row == Text.row).order_by(Queued.rank)
    yield free.order_by(Text.place)
