"""What a connected Label Studio tells: annotations made, changed and deleted, and its wish for training."""

from __future__ import annotations

import hashlib
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from hybridal.app.db.connect import Sessions
from hybridal.app.db.schema import Answer, Person, Text, Trainer
from hybridal.app.errors import MissingError
from hybridal.app.exchange.label_studio import Json, read_config, words
from hybridal.app.exchange.label_studio_in import annotator, give, place
from hybridal.app.exchange.label_studio_tasks import Annotation, read_annotation, read_task
from hybridal.app.labelling import classes, texts
from hybridal.app.labelling.withdraw import withdraw
from hybridal.errors import UserError

GIVEN = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")
GONE = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")


def heed(sessions: Sessions, event: Json) -> int:
    """Takes one event over: how many answers it changed. The same event again changes nothing.

    Training is not done here: the trainer notices new labels by itself.
    """
    action, changed = event.get("action"), 0
    for annotation in _annotations(event) if action in (*GIVEN, *GONE) else []:
        # A transaction each: who has locked a text must not ask to be alone, as a new class or text would have them do.
        with sessions.begin() as session:
            changed += _give(session, event, annotation) if action in GIVEN else _take_back(session, annotation)
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


def _give(session: Session, event: Json, annotation: Json) -> bool:
    project = event.get("project")
    config = read_config(project.get("label_config") if isinstance(project, dict) else None)
    task = event.get("task") if isinstance(event.get("task"), dict) else annotation.get("task")
    name = f"Task {words(task.get('id', '') if isinstance(task, dict) else task)[:40]}"
    said = read_annotation(annotation, name, config.choices if config else None)
    if said is None:
        return False
    text_id = _text_of(session, task, name, config.field if config else None)
    if said.class_name is not None:
        classes.add(session, [said.class_name])
    give(session, text_id, annotator(session, said.person), said, _key(said))
    return True


def _text_of(session: Session, task: Any, name: str, field: str | None) -> str:
    if isinstance(task, dict):
        (id,), new = place(session, [read_task(task, name, field)])
        if new:
            texts.add(session, new)
        return id
    id = words(task)
    if session.scalar(select(Text.row).where(Text.id == id)) is None:
        raise MissingError(f"{name:.60} is none of our texts, and the event does not say what it reads.")
    return id


def _take_back(session: Session, annotation: Json) -> bool:
    """Label Studio tells only the number of what it deleted; the keys of our answers begin with it."""
    id = words(annotation.get("id", ""))[:20]
    newest = session.scalar(
        select(Answer)
        .where(Answer.key.startswith(f"ls:{id}:", autoescape=True))
        .order_by(Answer.number.desc())
        .limit(1)
    )
    if newest is not None and newest.action != "withdraw":
        person = session.get_one(Person, newest.person_number)
        withdraw(session, person, newest.text_row, f"ls:{id}:gone:{newest.number}")
    return True


def _key(said: Annotation) -> str:
    digest = hashlib.sha256(repr((said.class_name, said.person, said.updated)).encode()).hexdigest()
    return f"ls:{said.id}:{digest[:32]}"
