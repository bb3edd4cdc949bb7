from __future__ import annotations

import pytest

from hybridal import ActiveLearner, Task, UserError
from hybridal.testing.small import multi_label_task, toy_task


@pytest.fixture
def numbered() -> ActiveLearner:
    rows = toy_task().train
    names = [toy_task().label(number) for number in rows.labels]
    task = Task.from_texts(rows.texts, names, ids=range(100, 220), validation_size=20, test_size=0)
    learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
    learner.teach(task.answers(task.train.ids[:40]))
    return learner


def test_a_sample_has_the_ids_of_the_source(numbered: ActiveLearner) -> None:
    task, sample = numbered.experiment.task, numbered.recall_sample("sport")
    known = {**numbered.labels, **numbered.validation_labels}
    assert all(isinstance(id, int) for id in sample.order)
    assert not set(sample.order) & set(known)
    assert sample.found == [*known.values()].count("sport")
    assert len(sample) + sample.given + len(known) == len(task.train) + len(task.validation)


def test_labels_of_a_model_are_not_found_texts(numbered: ActiveLearner) -> None:
    task, before = numbered.experiment.task, numbered.recall_sample("sport")
    numbered.teach(task.answers(task.train.ids[40:]), update=False, by="model")
    assert numbered.recall_sample("sport") == before


def test_a_text_of_which_the_class_is_open_is_not_labelled() -> None:
    task = multi_label_task()
    learner = ActiveLearner(task, "tiny", protocol="quick", schedule="retrain", device="cpu")
    whole, partial = task.train.ids[:30], task.train.ids[30]
    learner.teach({**task.answers(whole), partial: {"food": False}})
    assert partial in {*learner.recall_sample("sport").order} or learner.recall_sample("sport").given
    assert partial not in learner.recall_sample("food").order
    known = {**learner.labels, **learner.validation_labels}
    found = sum("sport" in set(label) for label in known.values() if not isinstance(label, dict))
    assert learner.recall_sample("sport").found == found


def test_an_unknown_class_is_refused(numbered: ActiveLearner) -> None:
    with pytest.raises(UserError, match="did you mean 'sport'"):
        numbered.recall_sample("sports")
