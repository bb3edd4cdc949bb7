from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from hybridal.core.outputs import Floats
from hybridal.errors import UserError
from hybridal.measures.shift import RandomSample, find_shift


def predictions(rng: np.random.Generator, n: int, weights: tuple[float, ...]) -> Floats:
    return rng.dirichlet(weights, n)


def test_texts_of_the_same_kind_are_rarely_warned_about() -> None:
    rng = np.random.default_rng(0)
    found = [find_shift(predictions(rng, 150, (1, 2, 3)), predictions(rng, 400, (1, 2, 3))) for _ in range(200)]
    assert sum(one.is_likely for one in found) <= 6  # 2 are expected


def test_texts_of_another_kind_are_found_and_the_class_is_named() -> None:
    rng = np.random.default_rng(1)
    found = [find_shift(predictions(rng, 150, (1, 2, 3)), predictions(rng, 400, (2, 2, 3))) for _ in range(50)]
    assert sum(one.is_likely for one in found) >= 48
    assert [one.column for one in found].count(0) >= 45
    assert found[0].before < found[0].now


def test_the_p_value_is_that_of_the_clearest_class_times_their_number() -> None:
    rng = np.random.default_rng(2)
    old, new = predictions(rng, 60, (1, 2, 3)), predictions(rng, 80, (1, 2, 4))
    p_values = [ks_2samp(old[:, one], new[:, one]).pvalue for one in range(3)]
    assert find_shift(old, new).p_value == pytest.approx(min(1.0, 3 * min(p_values)))


def test_a_few_texts_are_not_enough_for_a_warning() -> None:
    rng = np.random.default_rng(3)
    assert not find_shift(predictions(rng, 150, (1, 2)), np.full((2, 2), 0.5)).is_likely


def test_samples_of_other_classes_are_refused() -> None:
    with pytest.raises(UserError, match="the same classes"):
        find_shift(np.ones((3, 2)), np.ones((3, 4)))


def test_every_row_is_equally_likely_to_be_in_a_sample_that_arrives_in_pieces() -> None:
    times = np.zeros(40)
    for seed in range(300):
        sample = RandomSample(10, seed)
        for piece in np.split(np.arange(40.0)[:, None], [3, 4, 25]):
            sample.add(piece)
        assert len(sample.rows) == 10
        times[sample.rows[:, 0].astype(int)] += 1
    assert 45 <= times.min() <= times.max() <= 108  # 75 are expected
