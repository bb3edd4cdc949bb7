from __future__ import annotations

import numpy as np
import pytest

from hybridal.annotators import ANNOTATORS, ModelAnnotator
from hybridal.annotators.simulated import STRUCTURES, SimulatedModel, noisy_labels, word_probabilities
from hybridal.errors import UserError
from hybridal.testing.small import multi_label_task, toy_task


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("error", [0.0, 0.1, 0.4])
def test_a_known_share_of_the_labels_is_wrong(structure: str, error: float) -> None:
    task, model = toy_task(train=200, classes=3), SimulatedModel(error, structure, seed=3)
    model.begin(task)
    given, true = model.label(dict.fromkeys(task.train.ids, "")), task.answers(task.train.ids)
    assert sum(given[id] != true[id] for id in true) == round(error * 200)
    assert set(given.values()) <= set(task.classes)
    again = SimulatedModel(error, structure, seed=3)
    again.begin(task)
    assert again.label(dict.fromkeys(task.train.ids[:5], "")) == {id: given[id] for id in task.train.ids[:5]}


def test_errors_by_class_are_in_half_of_the_classes_and_over_call_one() -> None:
    labels = np.arange(4000) % 4
    given = noisy_labels(labels, 4, 0.3, "class", seed=0)
    rates = [(given[labels == one] != one).mean() for one in range(4)]
    assert sorted(rate > 0.1 for rate in rates) == [False, False, True, True]
    wrong = given[given != labels]
    assert np.bincount(wrong, minlength=4).max() > 0.7 * len(wrong)


def test_errors_by_difficulty_are_on_the_texts_that_words_do_not_tell() -> None:
    labels = np.arange(6) % 2
    likely = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])
    given = noisy_labels(labels, 2, 1 / 3, "difficulty", seed=0, likely=likely)
    assert np.flatnonzero(given != labels).tolist() == [1, 2]


def test_the_words_of_a_text_are_not_learnt_before_it_is_judged() -> None:
    rng = np.random.default_rng(0)
    texts = [f"word{number}" for number in range(200)]  # each occurs once, so nothing can be known
    found = word_probabilities(texts, rng.integers(0, 2, 200), 2)
    assert np.abs(found - 0.5).max() < 0.15


def test_it_is_a_component_that_learners_weigh_as_a_model() -> None:
    model = ANNOTATORS.make("simulated:0.3:class")
    assert isinstance(model, ModelAnnotator)
    assert isinstance(model, SimulatedModel)
    assert (model.error, model.structure) == (0.3, "class")


def test_what_it_cannot_simulate_is_refused() -> None:
    with pytest.raises(UserError, match="did you mean 'class'"):
        SimulatedModel(0.1, "clas")
    with pytest.raises(UserError, match="a share from 0"):
        SimulatedModel(1.5)
    with pytest.raises(UserError, match="one label per text"):
        SimulatedModel().begin(multi_label_task())
