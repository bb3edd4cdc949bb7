"""Whether a trainer would find work, decided without loading a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from hybridal.app import project_settings
from hybridal.app.db.schema import Scoring, Tally, Trainer
from hybridal.app.labelling.consensus import new_labels
from hybridal.app.project import Project, chapter_folders, count_rounds, read_chapters
from hybridal.app.trainer.publish import published_round
from hybridal.app.trainer.snapshot import (
    Descriptions,
    class_descriptions,
    learnt_classes,
    loadable,
    missing_labels,
    poll,
    refusal,
    snapshot,
)


@dataclass(frozen=True)
class ProjectState:
    """What a trainer's work depends on.

    Attributes:
        newest: The number of the newest annotation.
        texts: The row of the newest text, and whether there are two classes to tell apart.
        scoring: Whether background scoring is running, and how many texts there are.
        classes: Before the first round, names and descriptions of the classes, from which predictions are made.
    """

    newest: int
    texts: tuple[int, bool]
    scoring: tuple[str, int]
    classes: tuple[Mapping[int, str], Descriptions]


def read_state(project: Project) -> ProjectState:
    """Read the state of a project from its database."""
    with project.reads() as session:
        scoring = (session.get_one(Scoring, 1).state, session.get_one(Tally, 1).texts)
        is_new = not session.get_one(Trainer, 1).round
        classes = (learnt_classes(session), class_descriptions(session)) if is_new else ({}, {})
        return ProjectState(poll(session).newest, loadable(session), scoring, classes)


def has_work(project: Project, last: ProjectState | None) -> bool:
    """Whether there is work, given the state in which a trainer last found none; None if no trainer has run yet."""
    now = read_state(project)
    with project.reads() as session:
        trainer = session.get_one(Trainer, 1)
        if trainer.request or (trainer.round and poll(session).to_explain is not None):
            return True
        if now == last:
            return False
        new, needed = labels_towards(session)
        if trainer.phase == "failed" and last is not None and now.newest - last.newest < needed:
            return False
        if trainer.round:
            unpublished = last is None and _is_unpublished(session, project)
            return new >= needed or unpublished or _is_left_to_score(session, trainer.round)
        if now.texts[0] and now.texts[1] and (last is None or (now.texts, now.classes) != (last.texts, last.classes)):
            return True  # the first model is prepared before there are labels
        return not missing_labels(snapshot(session).labels({}), False, needed, needed)


def labels_towards(session: Session) -> tuple[int, int]:
    """Count the labels for the next update, and how many it needs."""
    trainer = session.get_one(Trainer, 1)
    decided = project_settings.read(session)
    needed = decided["batch"] if trainer.round else project_settings.first_batch(decided)
    return new_labels(session, trainer.learnt_annotation), int(needed)


def obstacle(session: Session) -> str:
    """Explain why there is no first model although there are enough labels; "" if nothing is in the way.

    All labels may be of one class, or none may be of a validation text.
    """
    trainer = session.get_one(Trainer, 1)
    if (
        trainer.round
        or trainer.phase != "waiting"
        or trainer.done < project_settings.first_batch(project_settings.read(session))
    ):
        return ""
    return refusal(snapshot(session).labels({}))


def _is_left_to_score(session: Session, round: int) -> bool:
    scoring = session.get_one(Scoring, 1)
    is_done = scoring.round == round and scoring.done >= session.get_one(Tally, 1).texts
    return scoring.state == "running" and not is_done


def _is_unpublished(session: Session, project: Project) -> bool:
    """Whether the last trainer ended between saving a round and publishing it."""
    return count_rounds(read_chapters(chapter_folders(project.runs))) != published_round(session)
