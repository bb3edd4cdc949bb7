"""Takes tasks of Label Studio in: their texts become ours, their annotations answers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from hybridal.app.db.connect import Sessions
from hybridal.app.db.schema import Person, Text, clean
from hybridal.app.exchange.label_studio_tasks import Annotation, Task
from hybridal.app.labelling import classes, texts
from hybridal.app.labelling.answer import answer
from hybridal.app.people.accounts import FILE, LONGEST, the_file

# People wait while a transaction writes: many short ones, not one long one.
_AT_ONCE = 25


@dataclass(frozen=True)
class Imported:
    """New texts, texts that were there, and labels in the file (those that were taken over before count again)."""

    added: int
    known: int
    labelled: int


def import_tasks(sessions: Sessions, tasks: Sequence[Task]) -> Imported:
    """Adds what is new. The same file again changes nothing, so an import that broke off is simply repeated."""
    names = sorted({one.class_name for task in tasks for one in task.annotations if one.class_name is not None})
    with sessions.begin() as session:
        ids, new = place(session, tasks)
        added = texts.add(session, new).added
        if names:
            classes.add(session, names)
    for start in range(0, len(tasks), _AT_ONCE):
        with sessions.begin() as session:
            for id, task in zip(ids[start : start + _AT_ONCE], tasks[start : start + _AT_ONCE], strict=True):
                for one in task.annotations:
                    give(session, id, one, file_key(id, one))
    labelled = sum(one.class_name is not None for task in tasks for one in task.annotations)
    return Imported(added, len(tasks) - added, labelled)


def place(session: Session, tasks: Sequence[Task]) -> tuple[list[str], list[texts.Row]]:
    """Which of our texts each task is, and those that have to be added.

    A task is the text of its id if the words are the same, else a text with the same words: numbers of Label Studio and
    ours may be the same by chance.
    """
    bodies: dict[str, bytes] = {}
    ids: dict[bytes, str] = {}
    for id, body in session.execute(select(Text.id, Text.body).execution_options(yield_per=1000)):
        bodies[id] = _digest(body)
        ids.setdefault(bodies[id], id)
    found: list[str] = []
    new: list[texts.Row] = []
    for task in tasks:
        digest = _digest(clean(task.text))
        id = clean(task.id)
        if bodies.get(id) != digest:
            id = ids.get(digest) or _free(id, digest, bodies)
        if id not in bodies:
            bodies[id] = digest
            ids.setdefault(digest, id)
            new.append((id, task.text, None))
        found.append(id)
    return found, new


def give(session: Session, text_id: str, said: Annotation, key: str) -> None:
    """One annotation as an answer of its person, who cannot sign in unless they are one of ours."""
    answer(
        session,
        annotator(session, said.person),
        text_id,
        "skip" if said.class_name is None else "label",
        class_name=said.class_name,
        comment=said.comment[:10_000],
        key=key,
        decides=said.decides,
    )


def annotator(session: Session, name: str) -> Person:
    """The person of this name; names in brackets are those of machines here."""
    if name == FILE:
        return the_file(session)
    printable = "".join(one for one in " ".join(name.split()) if one.isprintable())
    plain = printable.lstrip("(")[:LONGEST] or "?"
    found = session.scalar(select(Person).where(Person.name == plain))
    if found is None:
        found = Person(name=plain, active=False)
        session.add(found)
        session.flush()
    return found


def file_key(text_id: str, said: Annotation) -> str:
    """A key that the same annotation of a file always has."""
    parts = (text_id, said.id, said.person, said.class_name, said.updated, said.decides)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _free(id: str, digest: bytes, bodies: dict[str, bytes]) -> str:
    """An id for a new text: its own, or one made of its words if that is taken."""
    return id if id and id not in bodies else f"label-studio-{digest.hex()}"


def _digest(body: str) -> bytes:
    return hashlib.sha256(body.encode()).digest()[:16]
