from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, precision_score, recall_score
from sqlalchemy import select, update
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

from hybridal.app.db.class_set import ClassSet
from hybridal.app.db.schema import Class, Prediction, Text
from hybridal.app.insight.class_quality import (
    MIN_TEXTS,
    MatrixCell,
    class_quality,
    group_quality,
    quality_report,
    share,
)
from hybridal.app.labelling import classes
from hybridal.app.labelling.annotations import annotate
from hybridal.app.labelling.stored_class_sets import store_sets
from hybridal.app.labelling.text_search import search
from hybridal.app.project import Project

from ..made_up import make, me, merge_classes

NAMES = {1: "a", 2: "b", 3: "c"}
PAIRS = st.lists(st.tuples(st.sampled_from([1, 2, 3]), st.sampled_from([1, 2, 3])), min_size=1, max_size=80)
SETS = st.frozensets(st.sampled_from([1, 2, 3]))


@given(part=st.integers(0, 60), more=st.integers(0, 60))
def test_a_share_has_the_wilson_interval_if_there_are_enough_texts(part: int, more: int) -> None:
    found = share(part, part + more)
    assert (found.part, found.of) == (part, part + more)
    if part + more < MIN_TEXTS:
        assert (found.value, found.low, found.high) == (None, None, None)
    else:
        assert (found.low, found.high) == pytest.approx(proportion_confint(part, found.of, method="wilson"), abs=1e-12)
        assert found.value == part / found.of


@given(PAIRS)
def test_with_one_class_per_text_it_is_the_confusion_matrix(pairs: list[tuple[int, int]]) -> None:
    found = quality_report(Counter((ClassSet.of([y]), frozenset([p])) for y, p in pairs), NAMES, {})
    true, predicted = zip(*pairs, strict=True)
    matrix = confusion_matrix(true, predicted, labels=[1, 2, 3])
    cells = {(one.label, one.predicted): one.texts for one in found.cells}
    assert {(NAMES[i + 1], NAMES[j + 1]): n for (i, j), n in np.ndenumerate(matrix) if n} == cells
    assert [one.texts for one in found.classes] == matrix.sum(axis=1).tolist()
    assert [one.given for one in found.classes] == matrix.sum(axis=0).tolist()
    assert [one.recall.part for one in found.classes] == np.diag(matrix).tolist()


@given(st.lists(st.tuples(SETS, SETS), min_size=12, max_size=60))
def test_with_several_classes_each_has_its_own_precision_and_recall(
    pairs: list[tuple[frozenset[int], frozenset[int]]],
) -> None:
    found = quality_report(Counter((ClassSet.of(y), p) for y, p in pairs), NAMES, {"a": 0.3})
    true, predicted = (
        np.array([[number in one for number in NAMES] for one in side]) for side in zip(*pairs, strict=True)
    )
    precision = precision_score(true, predicted, average=None, zero_division=0)
    recall = recall_score(true, predicted, average=None, zero_division=0)
    for at, one in enumerate(found.classes):
        assert one.precision.value in (None, precision[at])
        assert one.recall.value in (None, recall[at])
        assert (one.precision.of, one.recall.of) == (predicted[:, at].sum(), true[:, at].sum())
    assert (found.texts, found.classes[0].threshold) == (len(pairs), 0.3)


@given(st.lists(st.tuples(SETS, SETS), min_size=12, max_size=60))
def test_a_group_has_the_figures_of_any_of_its_classes(pairs: list[tuple[frozenset[int], frozenset[int]]]) -> None:
    grouped = {1: ("a", "g"), 2: ("b", ""), 3: ("c", "g")}
    found = group_quality(Counter((ClassSet.of(y), p) for y, p in pairs), grouped)
    assert [one.name for one in found] == ["g", "b"]
    for one, members in zip(found, ({1, 3}, {2}), strict=True):
        true, predicted = (np.array([bool(side & members) for side in sides]) for sides in zip(*pairs, strict=True))
        assert (one.texts, one.given, one.recall.part) == (true.sum(), predicted.sum(), (true & predicted).sum())
        assert one.recall.value in (None, recall_score(true, predicted, zero_division=0))


def test_without_groups_there_are_no_figures_of_groups() -> None:
    assert group_quality({(ClassSet.of([1]), frozenset([1])): 20}, {1: ("a", "")}) == ()


def test_cells_of_sets_pair_a_missed_class_with_one_given_too_many() -> None:
    counted = {
        (ClassSet.of([1, 3]), frozenset([2, 3])): 4,
        (ClassSet.of([1]), frozenset[int]()): 2,
        (ClassSet.of([]), frozenset([2])): 1,
        (ClassSet.partial({1: True}), frozenset([1, 2])): 5,
    }
    found = quality_report(counted, NAMES, {})
    assert found.cells == (
        MatrixCell("a", "a", 5),  # b is undecided, not wrong
        MatrixCell("a", "b", 4),
        MatrixCell("a", None, 2),
        MatrixCell("c", "c", 4),
        MatrixCell(None, "b", 1),
    )
    assert [one.given for one in found.classes] == [5, 5, 4]


@pytest.fixture
def project(tmp_path: Path, db: str | None) -> Iterator[Project]:
    made = make(tmp_path / "p", texts=8, db=db)
    with made.sessions.begin() as session:
        session.execute(update(Text).values(split="pool"))
        session.execute(update(Text).where(Text.id.in_(["t0", "t1", "t2", "t3"])).values(split="validation"))
        given = {"t0": "a", "t1": "a", "t2": "b", "t4": "a"}
        owner = me(made)
        for id, label in given.items():
            annotate(session, owner, id, "label", key=id, class_name=label)
        rows = dict(session.execute(select(Text.id, Text.row)).all())
        for id, number in {"t0": 1, "t1": 2, "t2": 2, "t3": 3, "t4": 2}.items():
            session.add(Prediction(text_row=rows[id], class_number=number, probability=0.8, entropy=0.3, round=1))
    yield made
    made.close()


def test_only_labelled_validation_texts_count(project: Project) -> None:
    with project.reads() as session:
        found = class_quality(session)
    assert found.texts == 3  # t3 has no label, and the model has learnt t4
    assert found.cells == (MatrixCell("a", "a", 1), MatrixCell("a", "b", 1), MatrixCell("b", "b", 1))
    assert [(one.name, one.texts, one.given) for one in found.classes] == [("a", 2, 1), ("b", 1, 2), ("c", 0, 0)]
    assert found.classes[0].recall.value is None


def test_a_cell_lists_the_texts_that_it_counts(project: Project) -> None:
    with project.reads() as session:
        found = search(session, class_name="a", state="validation", given="b")
        assert [text.id for text in found.texts] == ["t1"]
        assert [text.id for text in search(session, class_name="a", withheld="a").texts] == ["t4", "t1"]


def test_merged_classes_count_for_the_class_that_they_were_merged_into(project: Project) -> None:
    with project.sessions.begin() as session:
        merge_classes(session, 2, 1)
    with project.reads() as session:
        assert class_quality(session).cells == (MatrixCell("a", "a", 3),)


def test_a_class_that_the_model_does_not_learn_is_left_out(project: Project) -> None:
    with project.sessions.begin() as session:
        classes.archive(session, 1, "out")
    with project.reads() as session:
        found = class_quality(session)
    assert ([one.name for one in found.classes], found.texts) == (["b", "c"], 1)


def test_predictions_from_names_alone_are_not_measured(project: Project) -> None:
    with project.sessions.begin() as session:
        session.execute(update(Prediction).values(round=0))
    with project.reads() as session:
        assert class_quality(session).texts == 0


def test_cells_of_sets_list_the_texts_that_they_count(tmp_path: Path) -> None:
    project = make(tmp_path / "p", texts=4, multi_label=True)
    with project.sessions.begin() as session:
        session.execute(update(Text).values(split="validation"))
        owner = me(project)
        for id, label in {"t0": ["a"], "t1": ["a", "b"], "t2": []}.items():
            annotate(session, owner, id, "label", key=id, class_names=label)
        numbers = dict(session.execute(select(Class.name, Class.number)).all())
        given = ClassSet.of([numbers["b"]])
        about = {"class_number": numbers["b"], "label_set": store_sets(session, [given])[given], "round": 1}
        for row in session.scalars(select(Text.row)).all():
            session.add(Prediction(text_row=row, probability=0.8, entropy=0.3, **about))
    with project.reads() as session:
        found = class_quality(session)
        assert found.cells == (
            MatrixCell("a", "b", 1),
            MatrixCell("a", None, 1),
            MatrixCell("b", "b", 1),
            MatrixCell(None, "b", 1),
        )
        listed = search(session, class_name="a", withheld="a", lacks="b", given="b", state="validation")
        assert [text.id for text in listed.texts] == ["t0"]
    project.close()
