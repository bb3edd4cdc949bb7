"""Takes tasks of Label Studio in: their texts become ours, their annotations answers."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from hybridal.app.db.connect import Sessions
from hybridal.app.db.schema import Answer, Person, Standing, Text
from hybridal.app.db.words import clean, digest
from hybridal.app.exchange.label_studio_tasks import Annotation, Task
from hybridal.app.exchange.labels import moment
from hybridal.app.labelling import classes, texts
from hybridal.app.labelling.answer import answer
from hybridal.app.labelling.standing import lock_all
from hybridal.app.people.accounts import FILE, LONGEST, the_file

# People wait while a transaction writes: many short ones, not one long one.
_AT_ONCE = 25

_OF_THIS_NAME = select(Person).where(Person.name == bindparam("name"))


@dataclass(frozen=True)
class Imported:
    """New texts and those that were there already; labels that were taken over and those that were there already."""

    added: int
    known: int
    labelled: int
    unchanged: int


def import_tasks(sessions: Sessions, tasks: Sequence[Task]) -> Imported:
    """Adds what is new. The same file again changes nothing, so an import that broke off is simply repeated."""
    names = sorted({one.class_name for task in tasks for one in task.annotations if one.class_name is not None})
    with sessions.begin() as session:
        ids, new = place(session, tasks)
        classes.add(session, names)
        people = {one.person: annotator(session, one.person) for task in tasks for one in task.annotations}
        added = texts.add(session, new).added
    labels: Counter[bool] = Counter()
    for part in texts.chunks([*zip(ids, tasks, strict=True)], _AT_ONCE):
        with sessions.begin() as session:
            lock_all(session, Text.id.in_([id for id, _ in part]))
            for id, one in [(id, one) for id, task in part for one in task.annotations]:
                person, key = people[one.person], file_key(id, one)
                if is_new := not is_there(session, id, person, one, key):
                    give(session, id, person, one, key)
                labels[is_new] += one.class_name is not None
    return Imported(added, len(tasks) - added, labels[True], labels[False])


def is_there(session: Session, text_id: str, person: Person, said: Annotation, key: str) -> bool:
    """Whether a person has said this already: it came in before, it went out from here, or it is what they say now.

    A flag or a comment that they only gave here is not taken away.
    """
    number = None if said.class_name is None else classes.find(session, said.class_name).number
    answers = session.execute(
        select(Answer, Standing)
        .select_from(Answer)
        .join(Text)
        .outerjoin(Standing, Standing.answer_number == Answer.number)
        .where(Text.id == text_id, Answer.person_number == person.number)
    )
    return any(
        given.key == key
        or moment(given.at) == said.updated
        or (
            stands is not None
            and (stands.class_number, stands.decides) == (number, said.decides)
            and said.comment in ("", given.comment)
            and said.flagged <= given.flagged
        )
        for given, stands in answers
    )


def place(session: Session, tasks: Sequence[Task]) -> tuple[list[str], list[texts.Row]]:
    """Which of our texts each task is, and those that have to be added.

    A task is the text of its id if the words are the same, else a text with the same words: numbers of Label Studio and
    ours may be the same by chance.
    """
    known: dict[str, str] = {}  # the words of each id
    ids: dict[str, str] = {}
    for part in texts.chunks(tasks):
        either = Text.id.in_([clean(task.id) for task in part]) | Text.digest.in_([digest(task.text) for task in part])
        for id, its in session.execute(select(Text.id, Text.digest).where(either).order_by(Text.row)):
            known[id] = its
            ids.setdefault(its, id)
    found: list[str] = []
    new: list[texts.Row] = []
    for task in tasks:
        id, its = clean(task.id), digest(task.text)
        if known.get(id) != its:
            id = ids.get(its) or _free(id, its, known)
        if id not in known:
            known[id] = its
            ids.setdefault(its, id)
            new.append((id, task.text, None))
        found.append(id)
    return found, new


def give(session: Session, text_id: str, person: Person, said: Annotation, key: str) -> None:
    """One annotation as an answer of its person."""
    answer(
        session,
        person,
        text_id,
        "skip" if said.class_name is None else "label",
        class_name=said.class_name,
        flagged=said.flagged,
        comment=said.comment[:10_000],
        key=key,
        decides=said.decides,
    )


def annotator(session: Session, name: str) -> Person:
    """The person of this name, who cannot sign in unless they are one of ours; names in brackets are of machines."""
    if name == FILE:
        return the_file(session)
    printable = "".join(one for one in " ".join(name.split()) if one.isprintable())
    plain = printable.lstrip("(")[:LONGEST] or "?"
    found = session.scalar(_OF_THIS_NAME, {"name": plain})
    if found is None:
        found = Person(name=plain, active=False)
        session.add(found)
        session.flush()
    return found


def file_key(text_id: str, said: Annotation) -> str:
    """A key that the same annotation of a file always has."""
    parts = (text_id, said.id, said.person, said.class_name, said.updated, said.decides)
    return f"import:{hashlib.sha256(repr(parts).encode()).hexdigest()[:56]}"


def _free(id: str, its: str, known: Collection[str]) -> str:
    """An id for a new text: its own, or one made of its words if that is taken."""
    return id if id and id not in known else f"label-studio-{its}"
