"""Finds texts: by words, by class, by what became of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import ColumnElement, Select, and_, func, not_, select
from sqlalchemy.orm import Session, aliased

from hybridal.app.db.schema import Class, Consensus, Text, Vote

State = Literal["labelled", "unlabelled", "skipped", "flagged", "validation"]

ON_A_PAGE = 50


@dataclass(frozen=True)
class Found:
    """One page of what was looked for."""

    texts: list[Text]
    total: int
    pages: int


def search(
    session: Session,
    words: str = "",
    class_name: str = "",
    state: State | None = None,
    page: int = 1,
    by: int | None = None,
) -> Found:
    """The texts that fit all of it: the newest answers first where they were answered, else in the file's order.

    `by` is the number of a person whose answers alone count, as if nobody else had said anything.
    """
    wanted = _wanted(words, class_name, state, by)
    total = session.scalar(select(func.count()).select_from(wanted.subquery())) or 0
    newest = _of(by, select(func.max(Vote.answer_number)).where(Vote.text_row == Text.row)).scalar_subquery()
    order = [newest.desc()] if state in ("labelled", "skipped", "flagged") or class_name else []
    texts = select(Text).where(Text.row.in_(wanted)).order_by(*order, Text.row)
    shown = session.scalars(texts.limit(ON_A_PAGE).offset((page - 1) * ON_A_PAGE)).all()
    return Found([*shown], total, max(1, -(-total // ON_A_PAGE)))


def _wanted(words: str, class_name: str, state: State | None, by: int | None) -> Select[int]:
    wanted = select(Text.row)
    for word in words.split():
        wanted = wanted.where(Text.body.icontains(word, autoescape=True))
    if class_name:
        given = _labels(by).join(Class)
        wanted = wanted.where(Text.row.in_(given.where(Class.name == class_name)))
    return wanted if state is None else wanted.where(_is(state, by))


def _labels(by: int | None) -> Select[int]:
    if by is None:
        return select(Consensus.text_row)
    return _of(by, select(Vote.text_row).where(Vote.class_number.is_not(None)))


def _is(state: State, by: int | None) -> ColumnElement[bool]:
    labelled = Text.row.in_(_labels(by))
    standing, later = _of(by, select(Vote.text_row)), aliased(Vote)
    skipped = Text.row.in_(standing.where(Vote.class_number.is_(None)))
    decided = select(later.text_row).where(
        later.text_row == Vote.text_row,
        later.decides,
        later.answer_number >= Vote.answer_number,
    )
    if by is not None:
        decided = decided.where(later.person_number == by)
    flagged = Text.row.in_(standing.where(Vote.flagged, ~decided.exists()))
    states: dict[str, ColumnElement[bool]] = {
        "labelled": labelled,
        "unlabelled": not_(labelled),
        "skipped": and_(not_(labelled), skipped),
        "flagged": flagged,
        "validation": Text.split == "validation",
    }
    return states[state]


def _of(by: int | None, standings: Select[int]) -> Select[int]:
    return standings if by is None else standings.where(Vote.person_number == by)
