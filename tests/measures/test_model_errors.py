from __future__ import annotations

import numpy as np
import pytest

from hybridal.core.label_sets import LabelSets
from hybridal.core.pool import Pool
from hybridal.measures.model_errors import (
    ClassErrors,
    label_weights,
    model_errors,
    pool_weights,
    trusted_rows,
)
from hybridal.measures.objective import MultiLabel, SingleLabel

NONE = np.empty(0, dtype=np.int64)
TWO = SingleLabel(2)


def test_errors_of_each_class_are_counted() -> None:
    model, people = np.array([0] * 30 + [1] * 20), np.array([0] * 28 + [1] * 2 + [1] * 12 + [0] * 8)
    found = model_errors(model, people, TWO)
    assert found.classes == (ClassErrors(30, 36, 28), ClassErrors(20, 14, 12))
    assert (found.texts, found.alike) == (50, 40)


@pytest.mark.parametrize(
    ("errors", "over", "under"),
    [
        (ClassErrors(20, 12, 12), True, False),
        (ClassErrors(12, 20, 12), False, True),
        (ClassErrors(20, 20, 12), False, False),
        (ClassErrors(9, 2, 2), None, None),
    ],
)
def test_over_and_under_calling_needs_more_than_chance_and_enough_texts(
    errors: ClassErrors, over: bool | None, under: bool | None
) -> None:
    assert (errors.over_called, errors.under_called) == (over, under)


def test_without_comparisons_all_labels_count_alike_and_less_than_those_of_people() -> None:
    weights = label_weights(np.array([0, 1]), NONE, NONE, TWO).ravel()
    assert weights[0] == weights[1]
    assert 0.5 < weights[0] < 1


def test_a_class_that_is_wrong_counts_little_and_one_that_is_right_much() -> None:
    model, people = np.array([0] * 50 + [1] * 50), np.array([0] * 50 + [0] * 30 + [1] * 20)
    right, wrong = label_weights(np.array([0, 1]), model, people, TWO).ravel()
    assert right > 0.8
    assert wrong < 0.05


def test_decisions_of_several_labels_are_weighted_one_by_one() -> None:
    sets = LabelSets(2)
    both, neither = sets.number([0, 1]), sets.number([])
    model = np.array([both] * 40 + [neither] * 40)
    people = np.array([sets.number([0])] * 40 + [neither] * 40)  # the model invents the second class
    weights = label_weights(np.array([both]), model, people, MultiLabel(sets))
    assert weights.shape == (1, 2)
    assert weights[0, 0] > 0.6
    assert weights[0, 1] < 0.05


def test_labels_of_people_count_one_and_untrusted_ones_are_not_trained_on() -> None:
    pool = Pool.unlabelled(120).reveal(dict.fromkeys(range(100), 0))
    pool = pool.reveal_by_model({row: row % 2 for row in range(102)})
    weights = pool_weights(pool, TWO)
    assert weights is not None
    assert weights[:100].ravel().tolist() == [1.0] * 100
    assert weights[100, 0] > 0.6, "class 0 is always right"
    assert weights[101, 0] < 0.1, "class 1 is always wrong"
    assert trusted_rows(pool, pool.order, TWO).tolist() == [*range(101)]


def test_a_pool_of_people_has_no_weights() -> None:
    pool = Pool.unlabelled(3).reveal({0: 1, 2: 0})
    assert pool_weights(pool, TWO) is None
    assert trusted_rows(pool, pool.order, TWO) is pool.order
