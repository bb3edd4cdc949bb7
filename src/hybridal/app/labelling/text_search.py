"""Texts are found by words, class and state, and listed by what the model says of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import ColumnElement, Select, and_, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from hybridal.app.db.schema import Class, Consensus, Prediction, Text, Vote
from hybridal.app.db.search import containing, contains
from hybridal.app.labelling.consensus import counts

State = Literal["labelled", "unlabelled", "skipped", "flagged", "validation", "deleted"]
Order = Literal["sure", "doubt"]

ON_A_PAGE = 50
MOST_COUNTED = 1000  # nearly all texts may have the words that are looked for, and nobody looks through so many


@dataclass(frozen=True)
class Found:
    """One page of what was looked for."""

    texts: list[Text]
    total: int
    more: bool = False  # than are counted, and pages

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // ON_A_PAGE))


def search(
    session: Session,
    words: str = "",
    class_name: str = "",
    state: State | None = None,
    page: int = 1,
    by: int | None = None,
    *,
    predicted: str = "",
    order: Order | None = None,
    among: Sequence[int] | None = None,
    exact: bool = False,
) -> Found:
    """The texts that fit all of it: the newest answers first where they were answered, else in the file's order.

    `by` is the number of a person whose answers alone count, as if nobody else had said anything. `predicted` is the
    class that the model holds to be the likeliest. By what it says they are listed in an `order`: the surest first,
    unless those in `doubt` are wanted. `among` are rows to look for them among, which also are their order. Only an
    `exact` search by words counts more of them than `MOST_COUNTED`, or than lie before the page and on it.
    """
    start = (page - 1) * ON_A_PAGE
    if among is not None:
        fit = select(Text.row).where(Text.row.in_(among))
        if predicted:
            fit = fit.where(Text.row.in_(_predictions(predicted, None).order_by(None)))
        fitting = {*session.scalars(fit.where(*_filters(session, Text.row, words, class_name, state, by)))}
        rows = [row for row in among if row in fitting]
        return Found(_texts(session, rows[start : start + ON_A_PAGE]), len(rows))
    in_order = _in_order(session, words, class_name, state, by, predicted, order)
    if words.strip():  # looked through once, for the page and for the count
        most = max(MOST_COUNTED, start + ON_A_PAGE)
        rows = [*session.scalars(in_order if exact else in_order.limit(most + 1))]
        more = not exact and len(rows) > most
        return Found(_texts(session, rows[start : start + ON_A_PAGE]), most if more else len(rows), more)
    rows = [*session.scalars(in_order.limit(ON_A_PAGE).offset(start))]
    if class_name or state not in (None, "unlabelled"):
        total = _count(session, in_order)
    elif predicted or order:  # by the labelled ones, which are few, and not one by one; what is deleted has none
        listed = _predictions(predicted, order)
        labelled = listed.where(Prediction.text_row.in_(_labels(by)))
        total = _count(session, listed) - (_count(session, labelled) if state else 0)
    else:
        total = _count(session, in_order) if state else counts(session)["texts"]
    return Found(_texts(session, rows), total)


def _in_order(
    session: Session,
    words: str,
    class_name: str,
    state: State | None,
    by: int | None,
    predicted: str,
    order: Order | None,
) -> Select[int]:
    if predicted or order:
        filters = _filters(session, Prediction.text_row, words, class_name, state, by)
        return _predictions(predicted, order).where(*filters)
    if state in ("labelled", "skipped", "flagged") or class_name:  # few of all texts, and all of them have votes
        said = aliased(Vote)
        answered = select(said.text_row).where(*_filters(session, said.text_row, words, class_name, state, by))
        if by is not None:
            answered = answered.where(said.person_number == by)
        return answered.group_by(said.text_row).order_by(func.max(said.annotation_number).desc(), said.text_row)
    wanted = _wanted(session, words, class_name, state, by)
    return wanted.order_by(wanted.selected_columns[0])


def _texts(session: Session, rows: Sequence[int]) -> list[Text]:
    found = {text.row: text for text in session.scalars(select(Text).where(Text.row.in_(rows)))}
    return [found[row] for row in rows]


def _count(session: Session, rows: Select[int]) -> int:
    return session.scalar(select(func.count()).select_from(rows.order_by(None).subquery())) or 0


def _predictions(predicted: str, order: Order | None) -> Select[int]:
    """The rows that the model has scored, along an index."""
    by = Prediction.entropy if order == "doubt" else Prediction.probability
    rows = select(Prediction.text_row).order_by(by.desc(), Prediction.text_row.desc())
    if not predicted:
        return rows
    return rows.where(Prediction.class_number == select(Class.number).where(Class.name == predicted).scalar_subquery())


# Few, where there are any: found by an index of their own, so that no search looks at each text for this.
_DELETED = select(Text.row).where(Text.deleted.is_not(None))


def rows_found(session: Session, words: str, class_name: str, state: State | None) -> list[int]:
    """The rows of all texts that fit."""
    return [*session.scalars(_wanted(session, words, class_name, state, None))]


def _wanted(session: Session, words: str, class_name: str, state: State | None, by: int | None) -> Select[int]:
    if state is None and not class_name:
        found = containing(session, words)
        return found.where(found.selected_columns[0].not_in(_DELETED))
    return select(Text.row).where(*_filters(session, Text.row, words, class_name, state, by))


Row = InstrumentedAttribute[int]


def _filters(
    session: Session, row: Row, words: str, class_name: str, state: State | None, by: int | None
) -> Iterator[ColumnElement[bool]]:
    """What must hold of a text, by its row."""
    if words.strip():
        yield contains(session, words, row)
    if class_name:
        yield row.in_(_labels(by).join(Class).where(Class.name == class_name))
    if state is not None:
        yield _is(state, row, by)
    if state != "deleted":
        yield row.not_in(_DELETED)


def _labels(by: int | None) -> Select[int]:
    if by is None:
        return select(Consensus.text_row)
    return _of(by, select(Vote.text_row).where(Vote.class_number.is_not(None)))


def _is(state: State, row: Row, by: int | None) -> ColumnElement[bool]:
    labels, standing, later = _labels(by), _of(by, select(Vote.text_row)), aliased(Vote)
    # One by one: most texts have none.
    unlabelled = ~labels.where(labels.selected_columns[0] == row).exists()
    skipped = row.in_(standing.where(Vote.class_number.is_(None)))
    decided = select(later.text_row).where(
        later.text_row == Vote.text_row,
        later.decides,
        later.annotation_number >= Vote.annotation_number,
    )
    if by is not None:
        decided = decided.where(later.person_number == by)
    states: dict[str, ColumnElement[bool]] = {
        "labelled": row.in_(labels),
        "unlabelled": unlabelled,
        "skipped": and_(unlabelled, skipped),
        "flagged": row.in_(standing.where(Vote.flagged, ~decided.exists())),
        "validation": row.in_(select(Text.row).where(Text.split == "validation")),
        "deleted": row.in_(_DELETED),
    }
    return states[state]


def _of(by: int | None, standings: Select[int]) -> Select[int]:
    return standings if by is None else standings.where(Vote.person_number == by)
