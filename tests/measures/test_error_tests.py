from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, hypergeom

from hybridal.errors import UserError
from hybridal.measures.error_tests import PARTS, WEIGHTS, count_p_value, labels_for, rate_p_value


@given(st.integers(0, 20), st.integers(0, 300), st.floats(0.005, 0.5))
def test_a_rate_is_ruled_out_if_it_is_above_the_clopper_pearson_bound(wrong: int, others: int, rate: float) -> None:
    n = wrong + others
    highest = beta.ppf(0.95, wrong + 1, others) if others else 1.0
    if abs(rate - highest) > 1e-9:
        assert (rate_p_value(wrong, n, rate) <= 0.05) == (rate > highest)


@pytest.mark.parametrize("truth", [0.05, 0.07, 0.2])
def test_who_looks_after_every_label_is_misled_with_at_most_the_stated_probability(truth: float) -> None:
    """The exact chance that the p-value is small at any of 400 looks, by the distribution of paths not stopped yet."""
    looks, level = 400, 0.05
    going, stopped = np.zeros(looks + 2), 0.0
    going[0] = 1.0
    for n in range(1, looks + 1):
        going[1:] = going[1:] * (1 - truth) + going[:-1] * truth
        going[0] *= 1 - truth
        misled = np.append(rate_p_value(np.arange(n + 1), n, 0.05, many_looks=True) <= level, [False] * (looks + 1 - n))
        stopped += going[misled].sum()
        going[misled] = 0.0
    assert 0 < stopped <= level if truth == 0.05 else stopped <= level
    assert rate_p_value(0, looks, 0.05, many_looks=True) <= level


def test_looking_after_every_label_with_the_exact_test_would_mislead() -> None:
    rng = np.random.default_rng(0)
    wrong = np.cumsum(rng.random((500, 400)) < 0.05, axis=1)
    n = np.arange(1, 401)
    once, often = ((rate_p_value(wrong, n, 0.05, many) <= 0.05).any(axis=1).mean() for many in (False, True))
    assert once > 0.08 > 0.05 >= often


@pytest.mark.parametrize(("population", "total", "n"), [(40, 9, 20), (40, 16, 33), (12, 5, 12), (9, 8, 3)])
def test_the_count_of_a_list_is_tested_by_the_mean_of_its_likelihood_ratios(
    population: int, total: int, n: int
) -> None:
    null = hypergeom(population, total, n)
    ratios = [hypergeom.pmf(np.arange(n + 1), population, int(part * total), n) for part in PARTS]
    for found in range(max(0, n - population + total), min(n, total) + 1):
        mean = sum(weight * ratio[found] for weight, ratio in zip(WEIGHTS, ratios, strict=True)) / null.pmf(found)
        assert count_p_value(found, n, total, population, many_looks=True) == pytest.approx(
            min(1.0, 1 / mean) if mean else 1.0
        )


@pytest.mark.parametrize("many_looks", [False, True])
@pytest.mark.parametrize(("population", "total"), [(8, 2), (9, 5), (10, 10)])
def test_over_all_samples_of_a_size_the_count_misleads_with_at_most_the_stated_probability(
    population: int, total: int, many_looks: bool
) -> None:
    for n in range(population + 1):
        found = np.array([sum(row < total for row in drawn) for drawn in combinations(range(population), n)])
        p = count_p_value(found, n, total, population, many_looks)
        for level in (0.05, 0.2, 0.5):
            assert np.mean(p <= level) <= level


@pytest.mark.parametrize(("population", "total", "n"), [(40, 9, 20), (40, 16, 33), (12, 5, 12), (9, 8, 3)])
def test_one_look_at_a_list_has_the_probability_of_scipy(population: int, total: int, n: int) -> None:
    found = np.arange(max(0, n - population + total), min(n, total) + 1)
    assert count_p_value(found, n, total, population) == pytest.approx(hypergeom.cdf(found, population, total, n))


@given(st.data())
def test_a_count_that_cannot_be_is_ruled_out(data: st.DataObject) -> None:
    population = data.draw(st.integers(1, 60))
    n = data.draw(st.integers(0, population))
    found = data.draw(st.integers(0, n))
    p = count_p_value(found, n, np.arange(found, population + 2), population, many_looks=True)
    assert ((p >= 0) & (p <= 1)).all()
    assert (p[population - n + 1 :] == 0).all()
    assert p[0] == 1


@pytest.mark.parametrize("total", [3, 6, 20])
def test_who_looks_at_a_growing_sample_is_misled_with_at_most_the_stated_probability(total: int) -> None:
    rng, population = np.random.default_rng(1), 120
    draws = np.array([rng.permutation(population) < total for _ in range(400)])
    found = np.cumsum(draws, axis=1)[:, :-1]
    p = count_p_value(found, np.arange(1, population), total, population, many_looks=True)
    assert (p <= 0.05).any(axis=1).mean() <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)


def test_a_large_list_is_like_an_unlimited_one() -> None:
    unlimited = rate_p_value([0, 2], 300, 0.02, many_looks=True)
    assert count_p_value([0, 2], 300, 20_000, 1_000_000, many_looks=True) == pytest.approx(unlimited, rel=1e-2)


@given(st.floats(0.01, 0.5), st.floats(0.5, 0.99), st.integers(0, 4), st.booleans())
def test_the_labels_for_a_rate_are_the_fewest(rate: float, confidence: float, errors: int, many: bool) -> None:
    n = labels_for(rate, confidence, errors, many)
    assert rate_p_value(errors, n, rate, many) <= 1 - confidence
    assert n - 1 < errors or rate_p_value(errors, n - 1, rate, many) > 1 - confidence


@pytest.mark.parametrize(("rate", "confidence"), [(0.0, 0.95), (2.0, 0.95), (0.02, 1.0)])
def test_shares_are_between_0_and_1(rate: float, confidence: float) -> None:
    with pytest.raises(UserError, match="must be a share between 0 and 1"):
        labels_for(rate, confidence)
