from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hybridal.core.outputs import Floats
from hybridal.measures.thresholds import MAX_RATE, best_expected_f1, choose_thresholds, min_threshold

PROBABILITIES = arrays(np.float64, (12, 3), elements=st.floats(0.01, 0.99))


def expected_f1(probabilities: Floats, threshold: float) -> float:
    given = probabilities >= threshold
    return float(2 * probabilities[given].sum() / (given.sum() + probabilities.sum()))


@given(PROBABILITIES)
def test_the_best_expected_f1_is_that_of_the_best_threshold(probabilities: Floats) -> None:
    for column, found in zip(probabilities.T, best_expected_f1(probabilities), strict=True):
        assert found == pytest.approx(max(expected_f1(column, threshold) for threshold in column))


@given(PROBABILITIES)
def test_half_of_the_best_expected_f1_is_a_threshold_that_reaches_it(probabilities: Floats) -> None:
    for column, best in zip(probabilities.T, best_expected_f1(probabilities), strict=True):
        assert expected_f1(column, best / 2 - 1e-12) == pytest.approx(best, abs=1e-6)


@given(PROBABILITIES)
def test_no_class_is_given_much_more_often_than_expected(probabilities: Floats) -> None:
    distinct = probabilities + np.arange(12)[:, None] * 1e-9
    given = (distinct >= min_threshold(distinct)).sum(axis=0)
    assert (given <= np.ceil(MAX_RATE * distinct.sum(axis=0)).clip(1)).all()


def test_a_class_that_nothing_is_known_of_is_not_given_to_every_text() -> None:
    informed = np.concatenate([np.full((20, 1), 0.9), np.full((80, 1), 0.02)])
    ignorant = np.full((100, 1), 0.01)
    thresholds = choose_thresholds(np.hstack([informed, ignorant]))
    assert (ignorant < thresholds[1]).all()
    assert thresholds[1] < thresholds[0]


@settings(max_examples=20)
@given(PROBABILITIES, st.permutations(range(12)))
def test_the_order_of_texts_does_not_matter(probabilities: Floats, order: list[int]) -> None:
    np.testing.assert_array_equal(choose_thresholds(probabilities[order]), choose_thresholds(probabilities))


@pytest.mark.parametrize(("spec", "expected"), [("half", 0.5), ("cost:1", 0.5), ("cost:9", 0.1), ("cost:0.25", 0.8)])
def test_thresholds_that_need_no_texts(spec: str, expected: float) -> None:
    assert choose_thresholds(np.empty((0, 2)), spec).tolist() == pytest.approx([expected] * 2)


def test_micro_f1_has_one_threshold_and_no_texts_mean_one_half() -> None:
    probabilities = np.random.default_rng(0).random((50, 4))
    common = choose_thresholds(probabilities, "micro_f1")
    assert len(set(common.tolist())) == 1
    assert common[0] == pytest.approx(best_expected_f1(probabilities.reshape(-1, 1))[0] / 2)
    assert choose_thresholds(np.empty((0, 2))).tolist() == [0.5, 0.5]


def test_macro_thresholds_beat_one_half_on_texts_drawn_from_the_probabilities() -> None:
    rng = np.random.default_rng(1)
    probabilities = rng.beta(0.3, 3, size=(4000, 8))
    true = rng.random(probabilities.shape) < probabilities
    chosen = choose_thresholds(probabilities[:512])

    def macro(thresholds: Floats) -> float:
        given = probabilities >= thresholds
        return float((2 * (given & true).sum(axis=0) / (given.sum(axis=0) + true.sum(axis=0))).mean())

    assert macro(chosen) > macro(np.full(8, 0.5)) + 0.05
