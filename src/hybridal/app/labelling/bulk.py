"""Label many texts at once, such as a page of predictions or a cluster, and undo it at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.connect import Sessions
from hybridal.app.db.schema import Annotation, Lease, Person, Text, Vote, now
from hybridal.app.labelling.annotations import annotate, one_undo_at_a_time, withdraw_vote
from hybridal.app.labelling.classes import find_offered
from hybridal.app.labelling.consensus import lock_text, lock_texts, settled_by_text, votes_by_text
from hybridal.app.labelling.texts import chunks

MAX_TEXTS = 200
PART = 20  # texts per transaction; other annotators wait for its end


def label_many(sessions: Sessions, person: Person, labels: Mapping[str, str | Sequence[str]], key: str) -> int:
    """Label texts, by id; return how many of them have these labels now. The same key counts once.

    Labels are class names, or lists of them if a text may have several classes. Texts are left out that are closed,
    leased to another person or labelled by this one. So are validation texts: texts that are chosen by a model's
    predictions would not be a random sample. Of look-alikes with the same label the first is labelled, and the label is
    copied to the others, so that it is learnt once.
    """
    first_of: dict[tuple[int, frozenset[str]], int] = {}  # annotations by group and label
    keys = {id: f"{key}.{at}" for at, id in enumerate(labels)}
    mine = select(Vote.text_row).where(Vote.person_number == person.number, ~Vote.partial)
    held = _held_by_others(person)
    for part in chunks([*labels], PART):
        free = Text.id.in_(part) & Text.open & (Text.split == "pool") & Text.row.not_in(mine.union(held))
        with sessions.begin() as session:
            lock_texts(session, free)
            texts = session.execute(select(Text.id, Text.look_alike_of).where(free).order_by(Text.row)).all()
            for id, group in texts:
                label = labels[id]
                given = {"class_name": label} if isinstance(label, str) else {"class_names": label}
                same = None if group is None else (group, frozenset([label] if isinstance(label, str) else label))
                first = first_of.get(same) if same else None
                how = {"drawn": "bulk"} if first is None else {"drawn": "copied", "copy_of": first}
                annotate(session, person, id, "label", **given, key=keys[id], offered=True, **how)
                if same and first is None:
                    first_of[same] = session.scalars(select(Annotation.number).where(Annotation.key == keys[id])).one()
    with sessions() as session:
        return len(_given(session, person, key))


def decide_many(
    sessions: Sessions, person: Person, ids: Sequence[str], class_name: str, present: bool, key: str
) -> int:
    """Decide one class for texts that may have several; return for how many this decision counts now.

    Texts are left out that are leased to another person, for validation, or for which the class is decided: by this
    person, or by all others together.
    """
    keys = {id: f"{key}.{at}" for at, id in enumerate(ids)}
    held = _held_by_others(person)
    for part in chunks([*keys], PART):
        free = Text.id.in_(part) & (Text.split == "pool") & Text.deleted.is_(None) & Text.row.not_in(held)
        with sessions.begin() as session:
            lock_texts(session, free)
            rows: dict[int, str] = dict(session.execute(select(Text.row, Text.id).where(free).order_by(Text.row)).all())
            number = find_offered(session, class_name).number
            votes, settled = votes_by_text(session, [*rows]), settled_by_text(session, [*rows])
            for row, id in rows.items():
                mine, all_others = votes[row].get(person.number), settled.get(row)
                labels = [one.label for one in (mine, all_others) if one is not None]
                if not any(isinstance(one, ClassSet) and one.decision(number) is not None for one in labels):
                    decisions = {class_name: present}
                    annotate(
                        session, person, id, "label", decisions=decisions, key=keys[id], offered=True, drawn="bulk"
                    )
    with sessions() as session:
        return len(_given(session, person, key))


def _held_by_others(person: Person) -> Select[int]:
    return select(Lease.text_row).where(Lease.person_number != person.number, Lease.until > now())


def undo_many(sessions: Sessions, person: Person, key: str, undoes: str) -> int:
    """Undo the labels of `label_many` with the key `undoes` that still count; return how many."""
    with sessions() as session:
        rows = _given(session, person, undoes)
    for part in chunks([*enumerate(rows)], PART):
        with sessions.begin() as session:
            one_undo_at_a_time(session, person)
            lock_texts(session, Text.row.in_([row for _, row in part]))
            there = {*_given(session, person, undoes)}
            for at, row in part:
                if row in there:
                    withdraw_vote(session, person, lock_text(session, row), f"{key}.{at}")
    return len(rows)


def _given(session: Session, person: Person, key: str) -> list[int]:
    """The texts on which an annotation of this key counts."""
    keys = [f"{key}.{at}" for at in range(MAX_TEXTS)]
    given = select(Vote.text_row).join(Annotation, Annotation.number == Vote.annotation_number)
    given = given.join(Text, Text.row == Vote.text_row).where(Text.deleted.is_(None))
    given = given.where(Annotation.key.in_(keys), Vote.person_number == person.number)
    return [*session.scalars(given.order_by(Vote.text_row))]
