from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from hybridal.app.db.schema import Person, Text
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate, undo
from hybridal.app.labelling.classes import resolve_merges
from hybridal.app.project import Project
from hybridal.app.trainer.snapshot import (
    LabelCounts,
    Poll,
    Snapshot,
    missing_labels,
    poll,
    refusal,
    snapshot,
    task_of,
)

from ..copies import copied
from ..made_up import merge_classes
from .projects import TASK, TRUTH, ask, label, label_some, made, unlabelled

counts = st.lists(st.integers(0, 30), max_size=5)
all_labels = st.builds(LabelCounts, st.integers(0, 60), counts, st.integers(0, 9))


def test_a_first_model_waits_for_its_initial_labels() -> None:
    assert [missing_labels(LabelCounts(n, (n, n), 3), False, 16, 8) for n in range(6)] == [8, 6, 4, 2, 0, 0]


def test_a_first_model_waits_for_labels_of_two_classes() -> None:
    assert missing_labels(LabelCounts(20, (20, 0, 0), 9), False, 16, 8) == 1
    assert missing_labels(LabelCounts(20, (20,), 9), False, 16, 8) == 1
    assert missing_labels(LabelCounts(0, (), 9), False, 16, 0) == 2


@given(st.integers(2, 64))
def test_a_first_model_does_not_wait_for_two_labels_of_a_class(classes: int) -> None:
    assert missing_labels(LabelCounts(classes, (1,) * classes, 9), False, 16, 2) == 0


def test_a_first_model_waits_for_something_to_be_measured_on() -> None:
    assert missing_labels(LabelCounts(20, (10, 10), 0), False, 16, 8) == 1


def test_further_models_wait_for_a_batch_of_new_labels() -> None:
    assert missing_labels(LabelCounts(15, (90, 90), 9), True, 16, 8) > 0
    assert missing_labels(LabelCounts(16, (90, 90), 9), True, 16, 8) == 0


@given(all_labels, st.integers(1, 40), st.integers(1, 40))
def test_due_work_is_never_refused(labels: LabelCounts, batch: int, initial: int) -> None:
    if missing_labels(labels, False, batch, initial) == 0:
        assert refusal(labels) == ""


@given(all_labels, st.integers(1, 40), st.integers(1, 40))
def test_missing_labels_of_the_right_kind_are_enough(labels: LabelCounts, batch: int, initial: int) -> None:
    n = missing_labels(labels, True, batch, initial)
    assert missing_labels(LabelCounts(labels.new + n, labels.per_class, labels.validation), True, batch, initial) == 0


def test_early_request_is_refused_with_what_is_missing() -> None:
    assert "no labels to learn from" in refusal(LabelCounts(0, (0, 0), 3))
    assert "one class" in refusal(LabelCounts(1, (1, 0), 3))
    assert "No validation text" in refusal(LabelCounts(2, (1, 1), 0))
    assert refusal(LabelCounts(2, (1, 1), 1)) == ""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = copied(made, tmp_path / "toys.hybridal")
    yield project
    project.close()


def taken(project: Project) -> Snapshot:
    with project.reads() as session:
        return snapshot(session)


def test_a_fresh_project_has_texts_and_classes_but_nothing_to_learn(project: Project) -> None:
    now = taken(project)
    assert (now.newest, now.texts, [*now.classes.values()]) == (0, 90, ["sport", "food"])
    assert (now.pool, now.validation) == ({}, {})


def test_labels_are_read_by_split_and_class_number(project: Project) -> None:
    pool = label_some(project, 3, 0)
    validation = label(project, unlabelled(project, "validation", 2))
    now = taken(project)
    number = {name: number for number, name in now.classes.items()}
    assert now.newest == 5
    assert now.pool == {id: number[TRUTH[id]] for id in pool}
    assert now.validation == {id: number[TRUTH[id]] for id in validation}


def test_undone_skipped_and_disputed_annotations_are_no_labels(project: Project) -> None:
    first, second, third, fourth = label_some(project, 4)
    with project.sessions.begin() as session:
        me = session.scalars(select(Person).where(Person.name == "me")).one()
        undo(session, me, "undo")
        annotate(session, me, third, "skip", key="skip")
        other = Person(name="Bo")
        session.add(other)
        session.flush()
        wrong = {"sport": "food", "food": "sport"}[TRUTH[second]]
        annotate(session, other, second, "label", class_name=wrong, key="other")
    assert set(taken(project).pool) == {first}
    assert fourth not in taken(project).pool


def test_a_merged_class_counts_for_what_it_became(project: Project) -> None:
    with project.sessions.begin() as session:
        classes.add(session, ["match"])
    ids = label(project, unlabelled(project, "pool", 2), "match")
    with project.sessions.begin() as session:
        sport = classes.find(session, "sport").number
        merge_classes(session, classes.find(session, "match").number, sport)
    now = taken(project)
    assert now.pool == dict.fromkeys(ids, sport)
    assert [*now.classes.values()] == ["sport", "food"]


def test_labels_are_new_if_the_model_has_not_learnt_their_current_value() -> None:
    now = Snapshot(9, 9, {1: "a", 2: "b", 5: "c"}, {"x": 1, "y": 2, "z": 2}, {"v": 1}, 3)
    assert now.labels({}) == LabelCounts(3, [1, 2, 0], 1)
    assert now.labels({"x": 1, "y": 1, "gone": 2}) == LabelCounts(2, [1, 2, 0], 1)


def test_a_glance_sees_the_newest_answer_and_the_wish(project: Project) -> None:
    with project.reads() as session:
        assert poll(session) == Poll(0, "", None)
    label_some(project, 2)
    ask(project, "train")
    with project.reads() as session:
        assert poll(session) == Poll(2, "train", None)


@given(st.integers(1, 30), st.data())
def test_every_class_ends_at_one_that_was_never_merged(n: int, data: st.DataObject) -> None:
    became = {number: data.draw(st.none() | st.integers(number + 1, n)) for number in range(1, n)} | {n: None}
    ends = resolve_merges(became)
    assert set(ends) == set(became)
    for number, end in ends.items():
        assert became[end] is None
        assert end == number if (onward := became[number]) is None else ends[onward] == end


def test_the_task_has_all_texts_and_no_labels(project: Project) -> None:
    label_some(project, 5, 5)
    with project.reads() as session:
        task = task_of(session, "toys", snapshot(session))
        held_out = {*session.scalars(select(Text.id).where(Text.split == "validation"))}
    texts = dict(zip(TASK.train.ids, TASK.train.texts, strict=True))
    assert set(task.validation.ids) == held_out
    assert held_out
    for split in (task.train, task.validation):
        assert {texts[id] for id in split.ids} == set(split.texts)
        assert set(split.labels.tolist()) == {-1}
    assert len(task.train) + len(task.validation) == 90


def test_class_descriptions_are_read_with_the_classes(project: Project) -> None:
    with project.sessions.begin() as session:
        sport, food = (classes.find(session, name).number for name in ("sport", "food"))
        classes.describe(session, sport, "  goals and teams ", "\n".join(f"game {n}" for n in range(7)))
        classes.describe(session, food, "  ", "")
    with project.reads() as session:
        descriptions = snapshot(session).descriptions_by_name
    assert descriptions == {"sport": ("goals and teams", *(f"game {n}" for n in range(5)))}
    with project.sessions.begin() as session:
        classes.archive(session, sport, "kept")  # its labels are learnt, and so is this
        classes.add(session, [f"class {n}" for n in range(150)])
    with project.reads() as session:
        descriptions = snapshot(session).descriptions_by_name
    assert descriptions == {"sport": ("goals and teams", "game 0")}, "fewer of each where classes are many"
    with project.sessions.begin() as session:
        classes.archive(session, sport, "out")
    with project.reads() as session:
        assert snapshot(session).descriptions_by_name == {}
