from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hybridal.errors import UserError
from hybridal.measures.shares.bounded_mean import mean_interval

ZERO, ONE = np.zeros(1), np.ones(1)


@pytest.mark.parametrize(("hits", "n"), [(0, 20), (3, 100), (50, 100)])
def test_shares_have_the_jeffreys_interval(hits: int, n: int) -> None:
    values = (np.arange(n) < hits).astype(float)[:, None]
    expected = stats.beta.ppf([0.025, 0.975], hits + 0.5, n - hits + 0.5)
    assert mean_interval(values, ZERO, ONE)[0] == pytest.approx(expected, abs=0.006)


def test_many_values_have_the_t_interval() -> None:
    values = np.random.default_rng(0).beta(2, 5, size=(2000, 1))
    expected = stats.t.interval(0.9, 1999, values.mean(), stats.sem(values[:, 0]))
    assert mean_interval(values, ZERO, ONE, 0.9)[0] == pytest.approx(expected, abs=4e-4)


def test_equal_values_are_not_certain() -> None:
    """None of 30 labels is of the class: as many as 8% of the texts may be."""
    low, high = mean_interval(np.zeros((30, 1)), ZERO, ONE)[0]
    assert low < 0.001
    assert 0.06 < high < 0.1


def test_an_interval_contains_the_mean_of_the_sample() -> None:
    """Without a text of the class, its share may be 0."""
    assert mean_interval(np.zeros((30, 1)), ZERO, ONE)[0, 0] == 0
    assert mean_interval(np.ones((30, 1)), ZERO, ONE)[0, 1] == 1


def test_half_the_weight_at_bounds_twice_as_far_moves_the_mean_as_far() -> None:
    values = (np.arange(200) < 60).astype(float)[:, None]
    (low, high), (other_low, other_high) = (
        mean_interval(values, bound, 1 - bound, at_bounds=weight)[0]
        for bound, weight in ((ZERO, 0.5), (ZERO - 0.5, 0.25))
    )
    assert (other_low, other_high) == pytest.approx((low, high), abs=0.002)


def test_a_drawn_population_is_certain() -> None:
    values = np.random.default_rng(1).random((50, 2))
    found = mean_interval(values, np.zeros(2), np.ones(2), drawn=1.0)
    assert found[:, 0] == pytest.approx(values.mean(axis=0))
    assert found[:, 1] == pytest.approx(values.mean(axis=0))


def test_no_share_is_no_confidence() -> None:
    with pytest.raises(UserError, match="confidence must be a share"):
        mean_interval(np.zeros((3, 1)), ZERO, ONE, 95)
