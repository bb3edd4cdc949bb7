from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom

from hybridal.core.outputs import Floats
from hybridal.errors import UserError
from hybridal.measures.prediction_sets import SetRule, labels_for_sets, lowest_true, set_rule

PROBABILITIES = arrays(np.float64, (9, 4), elements=st.floats(0.0, 1.0))


@given(PROBABILITIES, arrays(np.int64, 9, elements=st.integers(0, 3)), st.floats(0.0, 1.0))
def test_a_set_has_the_class_if_its_score_reaches_the_threshold(
    probabilities: Floats, labels: np.ndarray, threshold: float
) -> None:
    sets = SetRule(0.9, 0.95, threshold, 9, multi_label=False).sets(probabilities)
    covered = sets[np.arange(9), labels]
    assert covered.tolist() == (lowest_true(probabilities, labels) >= threshold).tolist()
    assert sets.any(axis=1).all()


@given(PROBABILITIES, arrays(np.int64, (9, 4), elements=st.integers(0, 1)), st.floats(0.0, 0.99))
def test_a_set_of_several_has_all_classes_if_its_score_reaches_the_threshold(
    probabilities: Floats, targets: np.ndarray, threshold: float
) -> None:
    sets = SetRule(0.9, 0.95, threshold, 9, multi_label=True).sets(probabilities)
    covered = (sets >= (targets == 1)).all(axis=1)
    assert covered.tolist() == (lowest_true(probabilities, targets) >= threshold).tolist()


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=300), st.floats(0.5, 0.97))
def test_the_threshold_is_the_highest_whose_misses_pass_the_test(lowest: list[float], coverage: float) -> None:
    values = np.array(lowest)
    rule = set_rule(values, coverage)
    fits = [
        each
        for each in np.unique(values)
        if binom.cdf((values < each).sum(), len(values), 1 - coverage) <= 0.05 * (1 - 1e-9)
    ]
    assert rule.threshold == (max(fits) if fits else None)


def test_few_rules_cover_too_little() -> None:
    rng = np.random.default_rng(0)
    broken = 0
    for _ in range(400):
        rule = set_rule(rng.random(150), 0.9)
        broken += rule.threshold is not None and rule.threshold > 0.1  # a uniform score is below t with probability t
    assert broken / 400 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)


def test_too_few_labels_promise_all_classes_only() -> None:
    few = labels_for_sets(0.95) - 1
    rule = set_rule(np.ones(few), 0.95)
    assert rule.threshold is None
    assert rule.sets(np.array([[0.9, 0.1]])).all()
    assert set_rule(np.ones(few + 1), 0.95).threshold == 1.0


def test_unknown_classes_of_a_text_are_not_missed() -> None:
    assert lowest_true(np.array([[0.1, 0.8]]), np.array([[np.nan, 1.0]])).tolist() == [0.8]


def test_a_coverage_in_percent_is_refused() -> None:
    with pytest.raises(UserError, match="The coverage of the sets must be a share"):
        set_rule(np.ones(100), 95)
