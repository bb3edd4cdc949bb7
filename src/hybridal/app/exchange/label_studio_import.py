"""Tasks and events of Label Studio: their texts become ours, their annotations too."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from hybridal.app.app_errors import MissingError
from hybridal.app.db.connect import Sessions
from hybridal.app.db.schema import Annotation, Person, Text, Trainer, Vote, clean, text_digest
from hybridal.app.exchange.label_studio import (
    ImportedAnnotation,
    ImportedTask,
    Json,
    as_text,
    read_annotation,
    read_config,
    read_task,
)
from hybridal.app.exchange.table_files import iso_time
from hybridal.app.labelling import classes, texts
from hybridal.app.labelling.annotations import annotate, withdraw
from hybridal.app.labelling.consensus import lock_texts
from hybridal.app.people import FILE_ANNOTATOR, LONGEST_NAME, file_annotator
from hybridal.errors import UserError

# People wait while a transaction writes: many short ones, not one long one.
_AT_ONCE = 25

OUTSIDER = " (Label Studio)"
"""Follows the name of an annotator of Label Studio who is called like a member of this project."""

_OF_THIS_NAME = select(Person).where(Person.name == bindparam("name"))


@dataclass(frozen=True)
class Imported:
    """New texts and those that were there already; labels that were taken over and those that were there already."""

    added: int
    known: int
    labelled: int
    unchanged: int


def import_tasks(sessions: Sessions, tasks: Sequence[ImportedTask], as_members: bool = False) -> Imported:
    """Add what is new. The same file again changes nothing, so an import that broke off is simply repeated.

    Args:
        sessions: Those of the project.
        tasks: What `read_tasks` found in the file.
        as_members: Whether annotators of the file are the members of this project with the same names. Anybody can
            write a name into a file, so by default its annotations count as those of an outsider, 'Ada (Label Studio)'.

    Returns:
        How many texts and labels are new.
    """
    names = sorted({one.class_name for task in tasks for one in task.annotations if one.class_name is not None})
    with sessions.begin() as session:
        ids, new = match_texts(session, tasks)
        classes.add(session, names)
        names = sorted({one.person for task in tasks for one in task.annotations})
        people = {name: find_annotator(session, name, as_members) for name in names}
        members = {name: member for name in names if (member := find_member(session, name)) is not None}
        added, deleted = texts.add(session, new).added, texts.deleted_ids(session, ids)
    labels: Counter[bool] = Counter()
    for part in texts.chunks([*zip(ids, tasks, strict=True)], _AT_ONCE):
        with sessions.begin() as session:
            lock_texts(session, Text.id.in_([id for id, _ in part]))
            for id, one in [(id, one) for id, task in part if id not in deleted for one in task.annotations]:
                person = people[one.person]
                key = file_key(id, one, person)
                speakers = {person, members.get(one.person, person)}  # what went out from here is known as a member's
                if is_new := not any(is_known(session, id, who, one, key) for who in speakers):
                    add_annotation(session, id, person, one, key)
                labels[is_new] += one.class_name is not None
    return Imported(added, len(tasks) - added, labels[True], labels[False])


def is_known(session: Session, text_id: str, person: Person, said: ImportedAnnotation, key: str) -> bool:
    """Whether a person has said this already: it came in before, it went out from here, or it is what they say now.

    A flag or a comment that they only gave here is not taken away.
    """
    number = None if said.class_name is None else classes.find(session, said.class_name).number
    answers = session.execute(
        select(Annotation, Vote)
        .select_from(Annotation)
        .join(Text)
        .outerjoin(Vote, Vote.annotation_number == Annotation.number)
        .where(Text.id == text_id, Annotation.person_number == person.number)
    )
    return any(
        given.key == key
        or iso_time(given.at) == said.updated
        or (
            stands is not None
            and (stands.class_number, stands.decides) == (number, said.decides)
            and said.comment in ("", given.comment)
            and said.flagged <= given.flagged
        )
        for given, stands in answers
    )


def match_texts(session: Session, tasks: Sequence[ImportedTask]) -> tuple[list[str], list[texts.Row]]:
    """Which of our texts each task is, and those that have to be added.

    A task is the text of its id if the words are the same, else a text with the same words: numbers of Label Studio and
    ours may be the same by chance.
    """
    known: dict[str, str] = {}  # the words of each id
    ids: dict[str, str] = {}
    for part in texts.chunks(tasks):
        either = Text.id.in_([clean(task.id) for task in part]) | Text.digest.in_(
            [text_digest(task.text) for task in part]
        )
        for id, its in session.execute(select(Text.id, Text.digest).where(either).order_by(Text.row)):
            known[id] = its
            ids.setdefault(its, id)
    found: list[str] = []
    new: list[texts.Row] = []
    for task in tasks:
        id, its = clean(task.id), text_digest(task.text)
        if known.get(id) != its:
            id = ids.get(its) or _free(id, its, known)
        if id not in known:
            known[id] = its
            ids.setdefault(its, id)
            new.append(texts.Row(id, task.text))
        found.append(id)
    return found, new


def add_annotation(session: Session, text_id: str, person: Person, said: ImportedAnnotation, key: str) -> None:
    """One annotation as an answer of its person."""
    annotate(
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


def find_annotator(session: Session, name: str, as_members: bool = False) -> Person:
    """Return the person to whom annotations of this name are attributed; a new one cannot sign in."""
    if name == FILE_ANNOTATOR:
        return file_annotator(session)
    member = find_member(session, name)
    if member is not None and as_members:
        return member
    plain = _plain(name)
    if member is not None:
        plain = plain[: LONGEST_NAME - len(OUTSIDER)] + OUTSIDER
    found = session.scalar(_OF_THIS_NAME, {"name": plain})
    if found is None:
        found = Person(name=plain, active=False)
        session.add(found)
        session.flush()
    return found


def find_member(session: Session, name: str) -> Person | None:
    """Return the person of this name who signs in to this project, or has done so."""
    found = session.scalar(_OF_THIS_NAME, {"name": _plain(name)})
    return found if found is not None and (found.active or found.password is not None) else None


def _plain(name: str) -> str:
    """A name as people here may have it; those in brackets are of machines."""
    printable = "".join(one for one in " ".join(name.split()) if one.isprintable())
    return printable.lstrip("(")[:LONGEST_NAME] or "?"


def file_key(text_id: str, said: ImportedAnnotation, person: Person) -> str:
    """A key that the same annotation of a file always has, where it is attributed to the same person."""
    parts = (text_id, said.id, person.name, said.class_name, said.updated, said.decides)
    return f"import:{hashlib.sha256(repr(parts).encode()).hexdigest()[:56]}"


def _free(id: str, its: str, known: Collection[str]) -> str:
    """An id for a new text: its own, or one made of its words if that is taken."""
    return id if id and id not in known else f"label-studio-{its}"


CREATED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")
DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")


def handle_event(sessions: Sessions, event: Json) -> int:
    """Takes one event over: how many answers it changed. The same event again changes nothing.

    Training is not done here: the trainer notices new labels by itself.
    """
    action, changed = event.get("action"), 0
    for annotation in _annotations(event) if action in (*CREATED, *DELETED) else []:
        # A transaction each: who has locked a text must not ask to be alone, as a new class or text would have them do.
        with sessions.begin() as session:
            changed += _create(session, event, annotation) if action in CREATED else _delete(session, annotation)
    if action == "START_TRAINING":
        with sessions.begin() as session:
            session.execute(update(Trainer).where(Trainer.number == 1).values(asked="train"))
    return changed


def _annotations(event: Json) -> list[Json]:
    """The annotations of an event: one, or several at once."""
    given = event.get("annotation") or event.get("annotations") or []
    found = given if isinstance(given, list) else [given]
    if not found or not all(isinstance(one, dict) for one in found):
        raise UserError("The event has no annotation.")
    return found


def _create(session: Session, event: Json, annotation: Json) -> bool:
    project = event.get("project")
    config = read_config(project.get("label_config") if isinstance(project, dict) else None)
    task = event.get("task") if isinstance(event.get("task"), dict) else annotation.get("task")
    name = f"Task {as_text(task.get('id', '') if isinstance(task, dict) else task)[:40]}"
    said = read_annotation(annotation, name, config.choices if config else None)
    if said is None:
        return False
    text_id = _text_of(session, task, name, config.field if config else None)
    if texts.deleted_ids(session, [text_id]):
        return False
    if said.class_name is not None:
        classes.add(session, [said.class_name])
    add_annotation(session, text_id, find_annotator(session, said.person), said, _key(said))
    return True


def _text_of(session: Session, task: Any, name: str, field: str | None) -> str:
    if isinstance(task, dict):
        (id,), new = match_texts(session, [read_task(task, name, field)])
        if new:
            texts.add(session, new)
        return id
    id = as_text(task)
    if session.scalar(select(Text.row).where(Text.id == id)) is None:
        raise MissingError(f"{name:.60} is not a text of this project, and the event does not contain its text.")
    return id


def _delete(session: Session, annotation: Json) -> bool:
    """Label Studio tells only the number of what it deleted; the keys of our answers begin with it."""
    id = as_text(annotation.get("id", ""))[:20]
    newest = session.scalar(
        select(Annotation)
        .where(Annotation.key.startswith(f"ls:{id}:", autoescape=True))
        .order_by(Annotation.number.desc())
        .limit(1)
    )
    if newest is not None and newest.action != "withdraw":
        person = session.get_one(Person, newest.person_number)
        withdraw(session, person, newest.text_row, f"ls:{id}:gone:{newest.number}")
    return True


def _key(said: ImportedAnnotation) -> str:
    digest = hashlib.sha256(repr((said.class_name, said.person, said.updated)).encode()).hexdigest()
    return f"ls:{said.id}:{digest[:32]}"
