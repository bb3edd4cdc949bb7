from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hybridal import ActiveLearner, UserError
from hybridal.measures.shares.estimators import estimate, share_of
from hybridal.tasks import Split, Task
from hybridal.testing.small import multi_label_task, toy_task

QUICK: dict[str, Any] = {"protocol": "quick", "schedule": "retrain", "device": "cpu"}
BEST: dict[str, Any] = {"device": "cpu", "max_epochs": 2, "probe_until": 30, "candidates": 40}


def unlabelled(task: Task) -> Task:
    """The texts of a task without labels and without splits, as people have them."""
    rows = task.train
    return Task(
        task.name,
        task.classes,
        Split(rows.ids, rows.texts, np.full(len(rows), -1)),
        Split.empty(),
        Split.empty(),
        label_sets=task.label_sets,
    )


def labelled_by_people(task: Task, rounds: int = 4, batch: int = 20, **options: Any) -> ActiveLearner:
    learner = ActiveLearner(unlabelled(task), "tiny", **BEST, **options)
    for _ in range(rounds):
        asked = learner.query(batch)
        learner.teach(asked, task.answers(asked.ids).values())
    return learner


@pytest.fixture(scope="module")
def task() -> Task:
    return toy_task(train=260)


@pytest.fixture(scope="module")
def learner(task: Task) -> ActiveLearner:
    return labelled_by_people(task, validation_share=0.3)


def truth(task: Task) -> np.ndarray[Any, Any]:
    return np.asarray(task.objective.targets(task.train.labels).mean(axis=0))


def test_random_labels_are_compared_with_a_model_that_has_not_learnt_them(task: Task, learner: ActiveLearner) -> None:
    texts = learner.estimated_texts()
    random = {id for id, how in learner.drawn.items() if how == "random"}
    assert {texts.ids[row] for row in texts.texts.random_rows} == random
    assert not random & {*learner.labels}
    assert texts.basis.labels == len(random)
    assert texts.basis.others == len(learner.labels)
    assert texts.basis.crossed == 0
    known = texts.texts.targets
    rows = {id: row for row, id in enumerate(task.train.ids)}
    for at in texts.texts.random_rows.tolist():
        assert known[at].argmax() == task.train.labels[rows[texts.ids[at]]]


def test_the_estimate_is_that_of_the_predictions_and_the_random_labels(task: Task, learner: ActiveLearner) -> None:
    shares = learner.estimate()
    predicted = learner.predict_proba(task.train.texts)
    texts = learner.estimated_texts().texts
    assert np.allclose(texts.predicted[0], predicted, atol=1e-4)
    expected = estimate(texts, share_of(np.ones(len(texts), dtype=bool)))
    found = [line.estimate.value for line in shares.table.of("share") if line.estimate]
    assert found == pytest.approx(expected.value.tolist())
    frame = shares.to_pandas()
    assert frame["estimate"].tolist() == pytest.approx(found)
    assert (frame["low"] <= truth(task)).all()
    assert (frame["high"] >= truth(task)).all()


def test_random_labels_that_were_learnt_are_cross_fitted(task: Task) -> None:
    """All labels are random ones, and the model has learnt nearly all of them by heart."""
    learner = labelled_by_people(task, acquisition="random", initial_draw="random", validation_share=0.1)
    texts = learner.estimated_texts()
    assert texts.basis.crossed == len(learner.labels)
    fold = texts.texts.fold[texts.texts.random_rows]
    rows = {id: row for row, id in enumerate(texts.ids)}
    learnt = np.isin(texts.texts.random_rows, [rows[id] for id in learner.labels])
    assert (fold > 0).tolist() == learnt.tolist()
    assert sorted({*fold[learnt].tolist()}) == [1, 2, 3, 4, 5]
    assert len(texts.texts.predicted) == 6
    # A probe that has not learnt a label is less sure of it than the model that has.
    own = texts.texts.random_rows[learnt]
    right = texts.texts.targets[own] == 1
    assert texts.texts.predicted_of(own)[right].mean() < texts.texts.predicted[0, own][right].mean()
    assert "cross-fitting in five folds" in learner.estimate().methods


def test_texts_that_are_drawn_for_an_estimate_are_never_learnt(task: Task) -> None:
    learner = labelled_by_people(task, rounds=2)
    before = learner.estimated_texts().basis.labels
    batch = learner.query_random(30)
    assert not {*batch.ids} & {*learner.labels}
    learner.teach(batch, task.answers(batch.ids).values())
    assert {learner.drawn[id] for id in batch.ids} == {"random"}
    asked = learner.query(10)
    learner.teach(asked, task.answers(asked.ids).values())
    assert not {*batch.ids} & {*learner.labels}
    assert learner.estimated_texts().basis.labels >= before + 30


def test_another_random_query_draws_others(task: Task) -> None:
    learner = labelled_by_people(task, rounds=1)
    first = learner.query_random(5)
    assert learner.query_random(5).ids == first.ids
    learner.teach(first, task.answers(first.ids).values(), update=False)
    assert not {*learner.query_random(5).ids} & {*first.ids}
    everything = learner.query_random(1000)
    assert "no other texts are without a label" in everything.note


def test_groups_are_given_by_id(task: Task, learner: ActiveLearner) -> None:
    by = pd.Series([number % 2 for number in range(260)], index=list(task.train.ids), name="half")
    table = learner.estimate(by=by).table
    assert (table.by, table.groups) == ("half", ("0", "1"))
    months = {id: f"2024-{1 + number % 3:02}-10" for number, id in enumerate(task.train.ids)}
    table = learner.estimate(by=months, per="month", classes=["food"]).table
    assert table.groups == ("2024-01", "2024-02", "2024-03")
    assert {line.name for line in table.lines} == {"food"}


def test_what_cannot_be_estimated_is_refused(task: Task, learner: ActiveLearner) -> None:
    with pytest.raises(UserError, match="teach it first"):
        ActiveLearner(unlabelled(task), "tiny", **BEST).estimate()
    with pytest.raises(UserError, match="`per` is 'fortnight'"):
        learner.estimate(by={"train-0": 1}, per="fortnight")
    with pytest.raises(UserError, match="No id of the column 'group' is that of a text"):
        learner.estimate(by={"x": 1})
    with pytest.raises(UserError, match="no class 'space'"):
        learner.estimate(classes=["space"])
    brought = ActiveLearner(unlabelled(task), "tiny", **BEST)
    brought.teach(task.answers(task.train.ids[:60]))
    with pytest.raises(UserError, match=r"There is no random label.*brought along"):
        brought.estimate()


def test_validation_texts_of_the_task_count_as_random() -> None:
    task = toy_task(train=200, validation=50)
    learner = ActiveLearner(task, "tiny", **QUICK)
    learner.teach(task.answers(task.train.ids[:40]))
    found = learner.estimated_texts()
    assert (found.basis.texts, found.basis.labels, found.basis.others) == (250, 50, 40)
    assert {found.ids[row] for row in found.texts.random_rows} == {*task.validation.ids}


def test_validation_texts_of_a_partly_labelled_file_stand_for_no_others() -> None:
    """They were drawn from its labelled rows, which somebody chose."""
    whole = toy_task(train=200, validation=50)
    labels = whole.train.labels.copy()
    labels[60:] = -1
    task = Task(
        "partly", whole.classes, Split(whole.train.ids, whole.train.texts, labels), whole.validation, whole.test
    )
    learner = ActiveLearner(task, "tiny", **QUICK)
    learner.teach({"train-150": "food"})
    with pytest.raises(UserError, match="There is no random label"):
        learner.estimate()


def test_texts_that_are_left_out_are_not_estimated(task: Task) -> None:
    learner = labelled_by_people(task, rounds=2, validation_share=0.5)
    learner.leave_out(task.train.ids[:100])
    found = learner.estimated_texts()
    assert found.basis.texts == 160
    assert not {*found.ids} & {*task.train.ids[:100]}


def test_labels_of_a_model_are_no_labels(task: Task) -> None:
    learner = labelled_by_people(task, rounds=2, validation_share=0.5)
    before = learner.estimated_texts().basis
    others = [id for id in task.train.ids if id not in learner.drawn][:40]
    learner.teach(dict.fromkeys(others, "food"), by="model")
    after = learner.estimated_texts().basis
    assert (after.labels, after.others) == (before.labels, before.others)


def test_several_labels_per_text() -> None:
    task = multi_label_task(train=240)
    learner = labelled_by_people(task, validation_share=0.4)
    shares = learner.estimate(confidence=0.999)
    assert [line.name for line in shares.table.lines] == ["sport", "food", "space"]
    assert "A text may belong to several classes" in shares.methods
    frame = shares.to_pandas()
    assert (frame["low"] <= truth(task)).all()
    assert (frame["high"] >= truth(task)).all()
    asked = learner.query_random(20)
    learner.teach({id: {"sport": "sport" in topics} for id, topics in task.answers(asked.ids).items()})
    labels = {line.name: line.labels for line in learner.estimate().table.of("share")}
    assert labels["sport"] == labels["food"] + 20


def test_a_saved_learner_gives_the_same(task: Task, learner: ActiveLearner, tmp_path: Path) -> None:
    learner.save(tmp_path / "learner")
    again = ActiveLearner.load(tmp_path / "learner").estimate()
    pd.testing.assert_frame_equal(again.to_pandas(), learner.estimate().to_pandas(), rtol=1e-4)
