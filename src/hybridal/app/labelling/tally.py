"""Counts of the project, kept by moving them with every answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from hybridal.app.db.connect import run
from hybridal.app.db.schema import Tally
from hybridal.app.labelling.verdict import Said, disagree, flagged, settle

NAMES = ("texts", "labelled", "validation", "pool", "skipped", "flagged", "disagreements")

_MOVE = update(Tally).values({name: getattr(Tally, name) + bindparam(f"by_{name}") for name in NAMES})
_COUNTS = select(*(getattr(Tally, name) for name in NAMES))


def share_of(split: str, standing: Sequence[Said]) -> Counter[str]:
    """What one text adds to the counts.

    >>> sorted(share_of("pool", [Said("person", 1, number=7, flagged=True)]).elements())
    ['flagged', 'labelled', 'pool', 'texts']
    """
    verdict = settle(standing)
    skipped = any(said.class_number is None for said in standing)
    holds = {
        "texts": True,
        "labelled": verdict is not None,
        split: verdict is not None,
        "skipped": verdict is None and skipped,
        "flagged": flagged(standing),
        "disagreements": disagree(standing),
    }
    return Counter(name for name, true in holds.items() if true)


def move(session: Session, before: Counter[str], now: Counter[str]) -> None:
    """Moves the counts by the difference. The last act of a transaction: it makes others wait until its end."""
    if now != before:
        run(session, _MOVE, **{f"by_{name}": now[name] - before[name] for name in NAMES})


def counts(session: Session) -> dict[str, int]:
    """The counts as they are now."""
    return dict(zip(NAMES, run(session, _COUNTS).one(), strict=True))
