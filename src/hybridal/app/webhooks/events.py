"""The events of webhooks, derived from stored annotations and rounds, so that none is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.connect import try_to_lock_annotations
from hybridal.app.db.schema import Annotation, Class, LabelSet, Person, Tally, Text, Trainer, Webhook
from hybridal.app.insight.project_progress import round_rows
from hybridal.app.labelling.classes import current_classes, deleted_classes
from hybridal.app.labelling.stored_class_sets import class_names, decisions_named, named
from hybridal.app.project import Project, chapter_folders, read_chapters
from hybridal.app.project_settings import read
from hybridal.sentences import translatable

EventName = Literal["labels.saved", "round.finished", "goal.reached", "model.finished"]

EVENTS: Mapping[EventName, str] = {
    "labels.saved": translatable("labels are saved, skipped or withdrawn"),
    "round.finished": translatable("a training round of the model is finished"),
    "goal.reached": translatable("the planned number of labels is reached"),
    "model.finished": translatable("the last training is finished and the model can be exported"),
}
"""The events and when they occur."""

LABELS_PER_MESSAGE = 100

Event = tuple[str, dict[str, Any]]


def current_position(session: Session, project: Project) -> dict[str, int]:
    """Return the position of a new webhook, which receives only later events."""
    budget, tally = read(session)["budget"], session.get_one(Tally, 1)
    return {
        "last_annotation": session.scalar(select(func.max(Annotation.number))) or 0,
        "last_round": len(_rounds(project)),
        "last_goal": budget if tally.labelled >= budget else 0,
    }


def has_new_events(session: Session, hook: Webhook) -> bool:
    """Check cheaply whether there may be new events; `take_new_events` needs locks."""
    newest = session.scalar(select(func.max(Annotation.number))) or 0
    trainer = session.get_one(Trainer, 1)
    learnt = trainer.round > hook.last_round and trainer.phase not in ("loading", "training")
    news = {
        "labels.saved": newest > hook.last_annotation,
        "goal.reached": bool(_goal(session, hook)),
        "round.finished": learnt,
        "model.finished": learnt,
    }
    return any(news[event] for event in hook.events)


def take_new_events(session: Session, project: Project, hook: Webhook) -> list[Event]:
    """Return the next events, and move the webhook's position behind them."""
    found = [*_labels(session, hook), *(reached := _goal(session, hook)), *_finished(project, hook)]
    for _, goal in reached:
        hook.last_goal = goal["goal"]
    return [(event, data) for event, data in found if event in hook.events]


def _labels(session: Session, hook: Webhook) -> list[Event]:
    """New annotations, without those of an uploaded file, which its owner knows."""
    # Numbers are drawn before the commit: without a lock, a later annotation might be visible before an earlier one.
    if "labels.saved" not in hook.events or not try_to_lock_annotations(session):
        return []
    rows = session.execute(
        select(Annotation, Text.id, Class.name, LabelSet.classes, Person.name, Person.kind)
        .select_from(Annotation)
        .join(Text, Text.row == Annotation.text_row)
        .join(Person, Person.number == Annotation.person_number)
        .outerjoin(Class, Class.number == Annotation.class_number)
        .outerjoin(LabelSet, LabelSet.number == Annotation.label_set)
        .where(Annotation.number > hook.last_annotation)
        .order_by(Annotation.number)
        .limit(LABELS_PER_MESSAGE)
    ).all()
    if not rows:
        return []
    hook.last_annotation = rows[-1][0].number
    several = read(session)["multi_label"]
    labels = [
        {
            "number": one.number,
            "text": text,
            "action": one.action,
            "class": name,
            **(_set_fields(session, classes) if several else {}),
            "person": person,
            "kind": kind,
            "flagged": one.flagged,
            "comment": one.comment,
            "decides": one.decides,
            "at": one.at,
        }
        for one, text, name, classes, person, kind in rows
        if kind != "file"
    ]
    return [("labels.saved", {"labels": labels})] if labels else []


def _set_fields(session: Session, classes: ClassSet | None) -> dict[str, Any]:
    """All classes that an annotation gives, and if it decides only some of them, which."""
    if classes is None:
        return {"classes": None, "decisions": None}
    now, names = classes.renamed(current_classes(session), deleted_classes(session)), class_names(session)
    return {"classes": named(now, names), "decisions": decisions_named(now, names)}


def _goal(session: Session, hook: Webhook) -> list[Event]:
    budget, labelled = read(session)["budget"], session.get_one(Tally, 1).labelled
    if labelled < budget or budget == hook.last_goal:
        return []
    return [("goal.reached", {"labels": labelled, "goal": budget})]


def _finished(project: Project, hook: Webhook) -> list[Event]:
    rounds = _rounds(project)
    news = [event for events in rounds[hook.last_round :] for event in events]
    hook.last_round = max(hook.last_round, len(rounds))
    return news


def _rounds(project: Project) -> list[list[Event]]:
    """The events of each round, counted over all chapters."""
    told: list[list[Event]] = []
    for chapter in read_chapters(chapter_folders(project.runs)):
        for record, row in zip(chapter.history, round_rows(chapter), strict=True):
            several = ("micro_f1", "exact_match") if "micro_f1" in row else ()
            names = ("round", "update", "labels", "accuracy", "f1", *several, "seconds")
            shown = {name: row[name] for name in names}
            last = [("model.finished", {"round": row["round"], "labels": row["labels"]})]
            told.append(
                [("round.finished", shown), *(last if record.label_changes and record.label_changes.last else [])]
            )
    return told
