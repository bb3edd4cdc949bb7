from __future__ import annotations

import numpy as np
import pytest

from hybridal.acquisition import names_for
from hybridal.acquisition.entropy import entropies
from hybridal.errors import UserError
from hybridal.learners.active_learner import ActiveLearner
from hybridal.learners.probe_model import ProbeModel
from hybridal.testing.small import toy_task

TASK = toy_task(train=40, validation=8, classes=3)
IDS = TASK.train.ids[:20]
LABELS = TASK.answers(IDS[:8])


def learner(**options: object) -> ActiveLearner:
    return ActiveLearner(TASK, backbone="tiny", device="cpu", **options)  # type: ignore[arg-type]


def fitted(acquisition: str = "margin") -> ProbeModel:
    probe = ProbeModel(learner(acquisition=acquisition))
    probe.compute_features(IDS)
    probe.fit(LABELS)
    return probe


def test_probe_model_equals_the_probe_of_the_first_round() -> None:
    whole = learner()
    probe = ProbeModel(whole)
    probe.compute_features([*IDS, *TASK.validation.ids])
    answers = {id: TASK.label(label) for id, label in zip(TASK.validation.ids, TASK.validation.labels, strict=True)}
    probe.fit(LABELS, answers)
    whole.teach(LABELS)
    expected = whole.predict_proba(TASK.train.texts[:20])
    np.testing.assert_allclose(probe.predict_proba(IDS), expected, atol=1e-5)


def test_labels_of_a_model_count_as_in_the_first_round() -> None:
    guesses = dict.fromkeys(IDS[4:14], "sport")
    people = {id: LABELS[id] for id in IDS[:8]}
    whole = learner()
    probe = ProbeModel(whole)
    probe.compute_features([*IDS, *TASK.validation.ids])
    answers = {id: TASK.label(label) for id, label in zip(TASK.validation.ids, TASK.validation.labels, strict=True)}
    probe.fit(people, answers, by_model=guesses)
    whole.teach(people, update=False)
    whole.teach(guesses, by="model")
    found, expected = probe.predict_proba(IDS), whole.predict_proba(TASK.train.texts[:20])
    np.testing.assert_allclose(found, expected, atol=1e-5)
    probe.fit({**guesses, **people}, answers)
    assert abs(probe.predict_proba(IDS) - found).max() > 0.01


@pytest.mark.parametrize("acquisition", names_for(multi_label=False))
def test_every_acquisition_can_choose_from_it(acquisition: str) -> None:
    chosen = fitted(acquisition).query(5)
    assert len(chosen) == len({*chosen}) == 5
    assert {*chosen} <= {*IDS} - {*LABELS}


def test_texts_come_in_the_order_of_the_acquisition_of_the_learner() -> None:
    probe = fitted("entropy")
    doubts = entropies(probe.predict_proba(probe.query(100)))
    assert len(doubts) == 12
    assert doubts.tolist() == sorted(doubts.tolist(), reverse=True)


def test_the_same_labels_choose_the_same_texts() -> None:
    assert fitted("bald").query(5) == fitted("bald").query(5)


def test_texts_without_features_are_named_and_not_learnt() -> None:
    probe = ProbeModel(learner())
    probe.compute_features(IDS[:8])
    assert probe.missing([*IDS[6:10], "elsewhere"]) == IDS[8:10]
    probe.fit(TASK.answers(IDS))
    assert probe.query(3) == []
    with pytest.raises(UserError, match="'elsewhere' is not the id of a text"):
        probe.compute_features(["elsewhere"])


def test_predict_before_fit_is_refused() -> None:
    with pytest.raises(UserError, match="call `fit` first"):
        ProbeModel(learner()).query(1)


def test_a_protocol_without_probe_needs_no_label_for_it() -> None:
    assert ProbeModel(learner(protocol="paper")).max_labels == 0
    assert ProbeModel(learner()).max_labels == 30


def test_class_descriptions_are_computed_in_advance() -> None:
    probe = ProbeModel(learner())
    steps = 0
    while not probe.has_description_features:
        assert probe.compute_description_features(2)
        steps += 1
    assert steps == 2  # three names
    assert not probe.compute_description_features(2)
