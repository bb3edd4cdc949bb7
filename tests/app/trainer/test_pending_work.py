from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from hybridal.app.db.schema import Annotation, Class, QueuedText, Scoring, Text, Trainer
from hybridal.app.labelling import classes
from hybridal.app.project import Project
from hybridal.app.trainer.pending_work import has_work, labels_towards, obstacle, read_state

from ..copies import copied
from .projects import ask, label, label_some, made, unlabelled


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = copied(made, tmp_path / "toys.hybridal")
    yield project
    project.close()


def says(project: Project, **values: Any) -> None:
    """Write the state of a trainer."""
    with project.sessions.begin() as session:
        row = session.get_one(Trainer, 1)
        for name, value in values.items():
            setattr(row, name, value)


def scores(project: Project, **values: Any) -> None:
    """Write how many texts a trainer has scored."""
    with project.sessions.begin() as session:
        row = session.get_one(Scoring, 1)
        for name, value in values.items():
            setattr(row, name, value)


def learnt(project: Project) -> None:
    """A trainer has learnt all labels, scored all texts, and published a round that its folder does not have."""
    scores(project, round=1, done=90)
    with project.sessions.begin() as session:
        newest = session.scalar(select(func.max(Annotation.number))) or 0
        session.add(QueuedText(text_row=session.scalar(select(func.min(Text.row))), rank=0, round=1))
    says(project, round=1, learnt_annotation=newest, phase="resting")


def test_the_first_texts_are_drawn_again_when_a_class_is_named_or_described(project: Project) -> None:
    last = read_state(project)
    with project.sessions.begin() as session:
        food = classes.find(session, "food").number
        classes.describe(session, food, "soup and bread")
    assert has_work(project, last)
    last = read_state(project)
    assert not has_work(project, last)
    with project.sessions.begin() as session:
        classes.rename(session, food, "meals")
    assert has_work(project, last)
    with project.sessions.begin() as session:
        classes.rename(session, food, "food")
    label_some(project, 6, 6)
    learnt(project)
    last = read_state(project)
    with project.sessions.begin() as session:
        classes.describe(session, food, "soup")
    assert not has_work(project, last)  # the next update learns it


def test_a_first_model_is_prepared_once_and_made_when_its_labels_are_there(project: Project) -> None:
    assert has_work(project, None)
    last = read_state(project)
    assert not has_work(project, last)
    label(project, unlabelled(project, "pool", 5))
    assert not has_work(project, last)  # too few to interrupt another project's trainer
    label_some(project, 1, 1)
    assert has_work(project, last)
    assert not has_work(project, read_state(project))  # a trainer has looked at the same, and waits for more


def test_obstacle_to_the_first_model_is_reported_with_enough_labels(project: Project) -> None:
    def told(done: int) -> str:
        says(project, phase="waiting", done=done, total=done + 1)
        with project.reads() as session:
            return obstacle(session)

    rows = unlabelled(project, "pool", 6)
    label(project, rows[:5], "food")
    assert told(5) == ""
    label(project, rows[5:], "food")
    assert told(6).startswith("All labels to learn from are of one class")
    label(project, rows[:1], "sport")
    assert told(6).startswith("No validation text has a label yet")
    label_some(project, 0, 1)
    assert told(6) == ""


def test_without_classes_there_is_nothing_to_load(project: Project) -> None:
    with project.sessions.begin() as session:
        first, second = session.scalars(select(Class))
        second.merged_into = first.number
    assert not has_work(project, None)


def test_next_round_needs_a_batch_of_labels_or_a_request(project: Project) -> None:
    label_some(project, 6, 1)
    learnt(project)
    last = read_state(project)
    assert not has_work(project, last)
    label_some(project, 5)
    with project.reads() as session:
        assert labels_towards(session) == (5, 6)
    assert not has_work(project, last)
    ask(project, "train")
    assert has_work(project, last)
    ask(project, "")
    label_some(project, 1)
    assert has_work(project, last)
    says(project, phase="failed")
    assert has_work(project, last)
    assert not has_work(project, read_state(project))
    label_some(project, 5)
    assert has_work(project, None)


def test_failed_work_is_retried_after_a_batch(project: Project) -> None:
    label_some(project, 12, 1)
    says(project, round=1, phase="failed")
    last = read_state(project)
    label_some(project, 5)
    assert not has_work(project, last)
    label_some(project, 1)
    assert has_work(project, last)


def test_saved_but_unpublished_round_is_pending(project: Project) -> None:
    learnt(project)  # in the queue is a round that is not in the folder
    assert has_work(project, None)
    assert not has_work(project, read_state(project))


def test_scoring_is_pending_with_a_model_unless_paused(project: Project) -> None:
    label_some(project, 6, 1)
    learnt(project)
    last = read_state(project)
    assert not has_work(project, last)
    scores(project, done=89)
    assert not has_work(project, last)  # a trainer that looked at the same found nothing to do
    label_some(project, 1)
    assert has_work(project, last)
    scores(project, state="paused")
    assert not has_work(project, last)
    scores(project, state="running", done=90, round=0)
    assert has_work(project, last)  # of an older model
