"""Import from Label Studio: tasks of an export file, and events of a connected instance."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from hybridal.app.app_errors import MissingError
from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.connect import Sessions
from hybridal.app.db.schema import Annotation, LabelSet, Person, Text, Trainer, Vote, clean, text_digest
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
from hybridal.app.labelling.annotations import MULTI_LABEL, annotate, withdraw
from hybridal.app.labelling.consensus import lock_texts
from hybridal.app.labelling.stored_class_sets import Label, numbers_of
from hybridal.app.people import FILE_ANNOTATOR, LONGEST_NAME, file_annotator
from hybridal.errors import UserError
from hybridal.tasks.answers import Answer, Decisions, names_of
from hybridal.tasks.class_names import sort_names
from hybridal.tasks.label_cells import write_cell

_TASKS_PER_TRANSACTION = 25  # short transactions, because labelling waits for them

OUTSIDER = " (Label Studio)"
"""Suffix for an annotator of Label Studio with the same name as a member of this project."""

_OF_THIS_NAME = select(Person).where(Person.name == bindparam("name"))


@dataclass(frozen=True)
class Imported:
    """The result of an import.

    Attributes:
        added: New texts.
        known: Texts that existed already.
        labelled: New labels.
        unchanged: Labels that existed already.
    """

    added: int
    known: int
    labelled: int
    unchanged: int


def import_tasks(sessions: Sessions, tasks: Sequence[ImportedTask], as_members: bool = False) -> Imported:
    """Add new texts and annotations. The import is idempotent, so an interrupted one can be repeated.

    Args:
        sessions: The project's sessions.
        tasks: The tasks, read with `read_tasks`.
        as_members: Attribute annotations to the members of this project with the same names. A file can contain any
            name, so by default they are attributed to an outsider such as 'Ada (Label Studio)'.

    Returns:
        The numbers of new and known texts and labels.
    """
    found = sort_names(names_of(one.label for task in tasks for one in task.annotations))
    with sessions.begin() as session:
        ids, new = match_texts(session, tasks)
        classes.add(session, found)
        names = sorted({one.person for task in tasks for one in task.annotations})
        people = {name: find_annotator(session, name, as_members) for name in names}
        members = {name: member for name in names if (member := find_member(session, name)) is not None}
        added, deleted = texts.add(session, new).added, texts.deleted_ids(session, ids)
    labels: Counter[bool] = Counter()
    for part in texts.chunks([*zip(ids, tasks, strict=True)], _TASKS_PER_TRANSACTION):
        with sessions.begin() as session:
            lock_texts(session, Text.id.in_([id for id, _ in part]))
            for id, one in [(id, one) for id, task in part if id not in deleted for one in task.annotations]:
                person = people[one.person]
                key = file_key(id, one, person)
                # An annotation that was exported by this app belongs to the member, not to the outsider.
                candidates = {person, members.get(one.person, person)}
                if is_new := not any(is_known(session, id, candidate, one, key) for candidate in candidates):
                    add_annotation(session, id, person, one, key)
                labels[is_new] += one.label is not None
    return Imported(added, len(tasks) - added, labels[True], labels[False])


def is_known(session: Session, text_id: str, person: Person, imported: ImportedAnnotation, key: str) -> bool:
    """Whether the annotation was imported before, was exported by this app, or equals the person's current vote.

    A flag or comment that exists only in this app does not make a difference, so an import does not remove it.
    """
    label = _numbered(session, imported.label)
    answers = session.execute(
        select(Annotation, Vote, LabelSet.classes)
        .select_from(Annotation)
        .join(Text, Text.row == Annotation.text_row)
        .outerjoin(Vote, Vote.annotation_number == Annotation.number)
        .outerjoin(LabelSet, LabelSet.number == Vote.label_set)
        .where(Text.id == text_id, Annotation.person_number == person.number)
    )
    return any(
        annotation.key == key
        or iso_time(annotation.at) == imported.updated
        or (
            vote is not None
            and (vote.class_number if given is None else given, vote.decides) == (label, imported.decides)
            and imported.comment in ("", annotation.comment)
            and imported.flagged <= annotation.flagged
        )
        for annotation, vote, given in answers
    )


def _numbered(session: Session, label: Answer | None) -> Label | None:
    """A label with the numbers of its classes."""
    number = numbers_of(session, names_of([label]))
    if label is None or isinstance(label, str):
        return None if label is None else number[label]
    if isinstance(label, Decisions):
        return ClassSet.partial({number[name]: has for name, has in label.by_class().items()})
    return ClassSet.of(number.values())


def match_texts(session: Session, tasks: Sequence[ImportedTask]) -> tuple[list[str], list[texts.Row]]:
    """Return the id of each task's text in this project, and the texts to add.

    A task matches the text with its id if the content is equal, else a text with equal content: numbers of Label Studio
    and ids of this project can coincide by chance.
    """
    known: dict[str, str] = {}  # digests by id
    ids: dict[str, str] = {}  # ids by digest
    for part in texts.chunks(tasks):
        either = Text.id.in_([clean(task.id) for task in part]) | Text.digest.in_(
            [text_digest(task.text) for task in part]
        )
        for id, digest in session.execute(select(Text.id, Text.digest).where(either).order_by(Text.row)):
            known[id] = digest
            ids.setdefault(digest, id)
    found: list[str] = []
    new: list[texts.Row] = []
    for task in tasks:
        id, digest = clean(task.id), text_digest(task.text)
        if known.get(id) != digest:
            id = ids.get(digest) or _free_id(id, digest, known)
        if id not in known:
            known[id] = digest
            ids.setdefault(digest, id)
            new.append(texts.Row(id, task.text))
        found.append(id)
    return found, new


def add_annotation(session: Session, text_id: str, person: Person, imported: ImportedAnnotation, key: str) -> None:
    """Add an imported annotation as one of this person."""
    annotate(
        session,
        person,
        text_id,
        "skip" if imported.label is None else "label",
        class_name=imported.label if isinstance(imported.label, str) else None,
        class_names=sorted(imported.label) if isinstance(imported.label, frozenset) else None,
        decisions=imported.label.by_class() if isinstance(imported.label, Decisions) else None,
        flagged=imported.flagged,
        comment=imported.comment[:10_000],
        key=key,
        decides=imported.decides,
        drawn="import",
    )


def find_annotator(session: Session, name: str, as_members: bool = False) -> Person:
    """Find or add the person to whom annotations with this name are attributed; an added person cannot sign in."""
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
    """Find the person with this name who can sign in to this project, or could before."""
    found = session.scalar(_OF_THIS_NAME, {"name": _plain(name)})
    return found if found is not None and (found.active or found.password is not None) else None


def _plain(name: str) -> str:
    """A valid name for a person; names that start with a bracket are reserved for machines."""
    printable = "".join(one for one in " ".join(name.split()) if one.isprintable())
    return printable.lstrip("(")[:LONGEST_NAME] or "?"


def file_key(text_id: str, imported: ImportedAnnotation, person: Person) -> str:
    """The idempotency key of an annotation from a file: equal for the same annotation and person."""
    parts = (text_id, imported.id, person.name, _written(imported.label), imported.updated, imported.decides)
    return f"import:{hashlib.sha256(repr(parts).encode()).hexdigest()[:56]}"


def _written(label: Answer | None) -> str | None:
    return None if label is None else write_cell(label)


def _free_id(id: str, digest: str, known: Collection[str]) -> str:
    """The id for a new text: the task's own, or if that is taken, one with its digest."""
    return id if id and id not in known else f"label-studio-{digest}"


CREATED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")
DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")


def handle_event(sessions: Sessions, event: Json) -> int:
    """Apply an event; return the number of changed annotations. A repeated event changes nothing.

    This does not train: the trainer finds new labels by itself.
    """
    action, changed = event.get("action"), 0
    for annotation in _annotations(event) if action in (*CREATED, *DELETED) else []:
        # One transaction each: adding a class or text takes an exclusive lock, which must precede the locks of texts.
        with sessions.begin() as session:
            changed += _create(session, event, annotation) if action in CREATED else _delete(session, annotation)
    if action == "START_TRAINING":
        with sessions.begin() as session:
            session.execute(update(Trainer).where(Trainer.number == 1).values(request="train"))
    return changed


def _annotations(event: Json) -> list[Json]:
    """The annotations of an event, which has one or several."""
    value = event.get("annotation") or event.get("annotations") or []
    found = value if isinstance(value, list) else [value]
    if not found or not all(isinstance(one, dict) for one in found):
        raise UserError("The event has no annotation.")
    return found


def _create(session: Session, event: Json, annotation: Json) -> bool:
    project = event.get("project")
    config = read_config(project.get("label_config") if isinstance(project, dict) else None)
    task = event.get("task") if isinstance(event.get("task"), dict) else annotation.get("task")
    name = f"Task {as_text(task.get('id', '') if isinstance(task, dict) else task)[:40]}"
    several = bool(session.scalar(MULTI_LABEL))
    imported = read_annotation(annotation, name, config.choices if config else None, several)
    if imported is None:
        return False
    text_id = _text_of(session, task, name, config.field if config else None)
    if texts.deleted_ids(session, [text_id]):
        return False
    classes.add(session, sort_names(names_of([imported.label])))
    add_annotation(session, text_id, find_annotator(session, imported.person), imported, _event_key(imported))
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
    """Withdraw a deleted annotation. The event has only its number, with which the keys of annotations start."""
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


def _event_key(imported: ImportedAnnotation) -> str:
    digest = hashlib.sha256(repr((_written(imported.label), imported.person, imported.updated)).encode()).hexdigest()
    return f"ls:{imported.id}:{digest[:32]}"
