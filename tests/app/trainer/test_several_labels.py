"""The trainer of a project in which a text may have several classes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Class, LabelSet, LlmAnswer, Prediction, QueuedText, Text
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.text_source import Source
from hybridal.app.people import machine_annotator
from hybridal.app.project import Project
from hybridal.app.trainer.cycle import Cycle
from hybridal.app.trainer.snapshot import snapshot
from hybridal.app.trainer.stored_predictions import ScoredTexts, keep_predictions
from hybridal.testing.small import multi_label_task

from ..copies import copied
from ..made_up import me, merge_classes
from .projects import SETTINGS, row, unlabelled

TASK = multi_label_task(train=90)
TRUTH = TASK.answers(TASK.train.ids)
_keys = count()


def several(folder: Path) -> Project:
    rows = [(id, text, None) for id, text in zip(TASK.train.ids, TASK.train.texts, strict=True)]
    return Project.create(Source("topics", rows, TASK.classes), folder, **SETTINGS, multi_label=True)


def say(project: Project, id: str, **label: Any) -> None:
    with project.sessions.begin() as session:
        annotate(session, me(project), id, "label", key=f"key-{next(_keys)}", **label)


def label_some(project: Project, pool: int, validation: int = 0) -> list[str]:
    ids = [*unlabelled(project, "validation", validation), *unlabelled(project, "pool", pool)]
    for id in ids:
        say(project, id, class_names=sorted(TRUTH[id]))
    return ids[validation:]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = copied(several, tmp_path / "topics.hybridal")
    yield project
    project.close()


def started(project: Project) -> Cycle:
    cycle = Cycle(project)
    cycle.start()
    return cycle


def check_predictions(project: Project, cycle: Cycle) -> None:
    """The stored sets follow from the stored probabilities and thresholds."""
    kept = project.probabilities.read()
    assert kept is not None
    with project.reads() as session:
        thresholds = {one.number: one.threshold for one in session.scalars(select(Class))}
        found = session.execute(
            select(Prediction, LabelSet.classes).join(LabelSet, LabelSet.number == Prediction.label_set)
        ).all()
        queued = session.scalars(select(QueuedText.text_row)).all()
        open_texts = {*session.scalars(select(Text.row).where(Text.open))}
    assert found
    assert queued
    assert {*queued} <= open_texts
    assert cycle.chapter is not None
    assert [thresholds[number] for number in cycle.chapter.spec.classes] == [*cycle.chapter.learner.state.thresholds]
    order = kept.about["classes"]
    newest = [(one, given) for one, given in found if one.round == cycle.chapter.round]
    assert newest
    for one, given in newest:
        probabilities = dict(zip(order, kept.values[one.text_row], strict=True))
        near = {number for number in order if abs(probabilities[number] - thresholds[number]) < 1e-6}
        expected = {number for number in order if probabilities[number] >= thresholds[number]}
        assert given.present ^ expected <= near
        assert one.class_number == order[int(np.argmax(kept.values[one.text_row]))]


def test_sets_and_decisions_are_learnt_and_predicted(project: Project) -> None:
    pool = label_some(project, 5, 6)
    free = unlabelled(project, "pool", 1)[0]
    name = TASK.classes[0]
    say(project, free, decisions={name: name in TRUTH[free]})
    cycle = started(project)
    assert cycle.turn()
    assert (row(project).error, row(project).round) == ("", 1)
    assert cycle.chapter is not None
    assert cycle.chapter.learner.labels == {
        **{id: frozenset(TRUTH[id]) for id in pool},
        free: {name: name in TRUTH[free]},
    }
    check_predictions(project, cycle)
    assert not cycle.turn()
    label_some(project, 6)
    assert cycle.turn()  # trained, no longer a probe
    check_predictions(project, cycle)
    while cycle.score():
        pass
    with project.reads() as session:
        assert len(session.scalars(select(Prediction)).all()) == 90
    check_predictions(project, cycle)
    other = started(project)  # another process finds nothing to do
    assert not other.turn()
    assert other.chapter is not None
    assert other.chapter.learner.labels == cycle.chapter.learner.labels


def test_a_decision_that_is_added_is_a_new_label(project: Project) -> None:
    label_some(project, 6, 6)
    cycle = started(project)
    assert cycle.turn()
    id = unlabelled(project, "pool", 1)[0]
    learnt = cycle.chapter.learnt() if cycle.chapter else {}
    for at, name in enumerate(TASK.classes):
        say(project, id, decisions={name: True})
        now = cycle._snapshot()
        assert now.labels(learnt).new == 1
        assert now.pool[id] == (
            ClassSet.partial(dict.fromkeys(range(1, at + 2), True)) if at < 2 else ClassSet.of([1, 2, 3])
        )


def test_sets_survive_a_merged_class(project: Project) -> None:
    label_some(project, 6, 6)
    cycle = started(project)
    assert cycle.turn()
    with project.sessions.begin() as session:
        numbers = [one.number for one in classes.active(session)]
        merge_classes(session, numbers[0], numbers[1])
    label_some(project, 6)
    assert cycle.turn()
    assert row(project).error == ""
    assert cycle.chapter is not None
    assert cycle.chapter.learner.experiment.task.classes == TASK.classes[1:]
    check_predictions(project, cycle)


def test_without_an_archived_class_the_others_are_predicted(project: Project) -> None:
    with project.sessions.begin() as session:
        food, sport, science = (one.number for one in classes.active(session))
        classes.archive(session, food, "out")
    ids = TASK.train.ids[:2]
    probabilities = np.array([[0.9, 0.7, 0.1], [0.8, 0.2, 0.3]], dtype=np.float32)
    keep_predictions(project, 1, ScoredTexts(ids, probabilities, (food, sport, science), (0.5, 0.5, 0.5)))
    with project.reads() as session:
        found = session.execute(
            select(Prediction.class_number, Prediction.probability, LabelSet.classes)
            .join(LabelSet, LabelSet.number == Prediction.label_set)
            .order_by(Prediction.text_row)
        ).all()
    assert [(number, round(sure, 3), given) for number, sure, given in found] == [
        (sport, 0.7, ClassSet.of([sport])),
        (science, 0.3, ClassSet.of([])),
    ]


def test_sets_of_a_language_model_are_labels_until_a_person_decides_something(project: Project) -> None:
    whole, part, guessed, shared = unlabelled(project, "pool", 4)
    with project.sessions.begin() as session:
        llm = machine_annotator(session, "(small)", "llm")
        for id in (whole, part, guessed):
            annotate(session, llm, id, "label", class_names=sorted(TRUTH[id]), key=f"llm-{id}", drawn="llm")
        text = session.scalars(select(Text).where(Text.id == shared)).one()
        text.required_votes = 2
        answer = {"question": "q", "model": "small 1", "text_row": text.row, "confidence": 1.0}
        session.add(LlmAnswer(**answer, class_name=f'["{TASK.classes[1]}"]'))
    for id in (whole, shared):
        say(project, id, class_names=[])
    say(project, part, decisions={TASK.classes[0]: True})
    with project.reads() as session:
        now = snapshot(session)
    assert now.by_model == {guessed}
    assert {*now.compared} == {whole, shared}  # the other classes of the partial set are the model's
    assert now.compared[shared] == ClassSet.of([[*now.classes][1]])
    assert (now.by_people[whole], now.model_answers[guessed]) == (ClassSet.of([]), now.pool[guessed])
