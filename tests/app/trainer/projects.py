"""Small projects to train on, and helpers that label them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

from sqlalchemy import select

from hybridal.app.db.schema import Person, Scoring, Text, Trainer
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.text_source import Source
from hybridal.app.project import Project
from hybridal.testing.small import toy_task

TASK = toy_task(train=90)
TRUTH = TASK.answers(TASK.train.ids)
# The first model, of one batch, is a probe; that of the second is trained, in few steps; the third goes on from it.
RULES: dict[str, Any] = {
    "candidates": 24,
    "max_length": 16,
    "probe_until": 10,
    "max_epochs": 2,
    "min_steps": 0,
    "min_finetune_steps": 0,
    "train_batch": 8,
    "learning_rate": 2e-3,
}
SETTINGS: dict[str, Any] = {"backbone": "tiny", "device": "cpu", "batch": 6, "validation_first": 12, "overrides": RULES}
_keys = count()


def made(folder: Path, db: str | None = None, **settings: Any) -> Project:
    """90 texts of two classes, none labelled, some set aside for validation."""
    rows = [(id, text, None) for id, text in zip(TASK.train.ids, TASK.train.texts, strict=True)]
    return Project.create(Source("toys", rows, TASK.classes), folder, db=db, **{**SETTINGS, **settings})


def unlabelled(project: Project, split: str, n: int) -> list[str]:
    """Ids of n texts without an annotation."""
    free = select(Text.id).where(Text.split == split, Text.open).order_by(Text.random_order).limit(n)
    with project.reads() as session:
        return [*session.scalars(free)]


def label(project: Project, ids: Iterable[str], class_name: str | None = None) -> list[str]:
    """The owner labels these texts, rightly unless told otherwise."""
    done = list(ids)
    with project.sessions.begin() as session:
        me = session.scalars(select(Person).where(Person.name == "me")).one()
        for id in done:
            annotate(session, me, id, "label", class_name=class_name or TRUTH[id], key=f"key-{next(_keys)}")
    return done


def label_some(project: Project, pool: int = 6, validation: int = 0) -> list[str]:
    """Labels some texts of each split; returns those of the pool."""
    label(project, unlabelled(project, "validation", validation))
    return label(project, unlabelled(project, "pool", pool))


def ask(project: Project, request: str) -> None:
    with project.sessions.begin() as session:
        session.get_one(Trainer, 1).request = request


def want_scores(project: Project, state: str = "running", first: str = "") -> None:
    """Do what the page does to pause or resume scoring, or to show texts."""
    with project.sessions.begin() as session:
        found = session.get_one(Scoring, 1)
        found.state, found.first, found.error = state, first, ""


def scoring(project: Project) -> Scoring:
    with project.reads() as session:
        return session.get_one(Scoring, 1)


def row(project: Project) -> Trainer:
    with project.reads() as session:
        return session.get_one(Trainer, 1)
