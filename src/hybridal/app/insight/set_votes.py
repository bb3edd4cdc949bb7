"""Sets of classes that several people gave to the same texts, to compare them and to decide where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Annotation, Consensus, LabelSet, Person, Text, Vote
from hybridal.app.insight.annotator_agreement import MAX_DISAGREEMENTS
from hybridal.app.insight.class_agreement import SetRating
from hybridal.app.labelling.set_consensus import disputed
from hybridal.app.labelling.stored_class_sets import answer_of, class_names, decisions_named, named

_ROWS_PER_PAGE = 500


def set_ratings(session: Session, min_people: int = 2) -> list[SetRating]:
    """The sets, also partial ones, of texts that at least `min_people` have labelled.

    Decisions of reviewers do not count: they have seen the other labels. Nor do copies of answers to look-alikes.
    """
    rows = session.execute(
        select(Text.id, Person.name, LabelSet.classes)
        .join(Vote, Vote.text_row == Text.row)
        .join(Person, Person.number == Vote.person_number)
        .join(LabelSet, LabelSet.number == Vote.label_set)
        .where(Person.kind == "person", ~Vote.decides, ~Vote.copied, Text.row.in_(_with_votes(min_people)))
        .order_by(Text.row, Person.number)
    ).all()
    names = class_names(session)
    by_text: dict[str, list[SetRating]] = {}
    for text, person, classes in rows:
        if classes.decides:
            by_text.setdefault(text, []).append((text, person, answer_of(classes, names)))
    return [rating for found in by_text.values() if len(found) >= min_people for rating in found]


def set_disagreements(session: Session) -> list[dict[str, Any]]:
    """The first texts with classes that people contest and no reviewer has decided, with everyone's votes."""
    names, last = class_names(session), -1
    found: list[dict[str, Any]] = []
    while len(found) < MAX_DISAGREEMENTS and (page := _undecided(session, last)):
        last = [*page][-1].row
        votes = _votes(session, [text.row for text in page])
        for text, consensus in page.items():
            contested = disputed([classes for *_, classes in votes[text.row] if classes.decides])
            if consensus is not None:
                contested &= consensus.unknown
            if contested:
                found.append(_item(text, votes[text.row], contested, names))
    return found[:MAX_DISAGREEMENTS]


def _with_votes(n: int) -> Select[int]:
    """The rows of texts with at least n votes."""
    return select(Vote.text_row).where(Vote.label_set.is_not(None)).group_by(Vote.text_row).having(func.count() >= n)


def _undecided(session: Session, last: int) -> dict[Text, ClassSet | None]:
    """Texts with several votes whose consensus does not decide every class, with the consensus."""
    rows = session.execute(
        select(Text, LabelSet.classes)
        .outerjoin(Consensus, Consensus.text_row == Text.row)
        .outerjoin(LabelSet, LabelSet.number == Consensus.label_set)
        .where(Text.row.in_(_with_votes(2)), Text.row > last, Text.deleted.is_(None))
        .order_by(Text.row)
        .limit(_ROWS_PER_PAGE)
    )
    return dict(rows.all())


def _votes(session: Session, rows: list[int]) -> dict[int, list[tuple[str, str, ClassSet]]]:
    """Person, comment and set of each vote of a person, by the row of the text."""
    found: dict[int, list[tuple[str, str, ClassSet]]] = {row: [] for row in rows}
    votes = session.execute(
        select(Vote.text_row, Person.name, Annotation.comment, LabelSet.classes)
        .join(Person, Person.number == Vote.person_number)
        .join(Annotation, Annotation.number == Vote.annotation_number)
        .join(LabelSet, LabelSet.number == Vote.label_set)
        .where(Vote.text_row.in_(rows), Person.kind == "person", ~Vote.decides)
        .order_by(Annotation.number)
    )
    for row, *vote in votes:
        found[row].append(tuple(vote))  # type: ignore[arg-type]
    return found


def _item(
    text: Text, votes: list[tuple[str, str, ClassSet]], contested: frozenset[int], names: Mapping[int, str]
) -> dict[str, Any]:
    annotations = [
        {
            "person": person,
            "class": None,
            "classes": named(classes, names),
            "decisions": decisions_named(classes, names),
            "comment": comment,
        }
        for person, comment, classes in votes
    ]
    shown = [name for number, name in names.items() if number in contested]
    return {"id": text.id, "text": text.body, "annotations": annotations, "contested": shown}
