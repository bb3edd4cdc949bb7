import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hybridal.app.insight.resampling import interval

VALUES = np.random.default_rng(3).lognormal(size=40)


def mean(times: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(times @ VALUES / len(VALUES))


def test_a_mean_gets_the_interval_that_scipy_gives_it() -> None:
    known = stats.bootstrap((VALUES,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(0))
    width = known.confidence_interval.high - known.confidence_interval.low
    assert interval(mean, len(VALUES), "test", seed=0) == pytest.approx(known.confidence_interval, abs=0.08 * width)


def test_the_same_seed_gives_the_same_interval_and_another_one_another() -> None:
    assert interval(mean, len(VALUES), "test", 1) == interval(mean, len(VALUES), "test", 1)
    assert interval(mean, len(VALUES), "test", 1) != interval(mean, len(VALUES), "test", 2)


def test_resamples_without_a_value_are_left_out_until_they_are_most_of_them() -> None:
    def without(share: float) -> tuple[float | None, float | None]:
        def values(times: NDArray[np.int64]) -> NDArray[np.float64]:
            found = mean(times)
            found[: round(share * len(found))] = np.nan
            return found

        return interval(values, len(VALUES), "test", 0)

    some, most = without(0.3), without(0.7)
    assert most == (None, None)
    assert some == pytest.approx(interval(mean, len(VALUES), "test", 0), rel=0.05)


def test_one_text_says_nothing_about_other_texts() -> None:
    assert interval(lambda times: np.ones(len(times)), 1, "test", 0) == (None, None)
