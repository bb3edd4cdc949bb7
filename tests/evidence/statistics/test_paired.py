import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from hybridal.errors import UserError
from hybridal.evidence.statistics.paired import paired_test

from .samples import Pair, pairs, study


@pytest.mark.parametrize("n", [2, 3, 5, 90])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_it_is_scipys(n: int, confidence: float) -> None:
    new, reference = study(n)
    found, known = paired_test(new, reference, confidence), stats.ttest_rel(new, reference)
    interval = known.confidence_interval(confidence)
    assert (found.n, found.df, found.note) == (n, known.df, "")
    assert [found.t, found.p, found.low, found.high] == pytest.approx(
        [known.statistic, known.pvalue, interval.low, interval.high], rel=1e-9
    )


@given(pairs, st.floats(0.01, 0.99))
def test_the_interval_excludes_zero_exactly_where_the_test_is_significant(pair: Pair, confidence: float) -> None:
    new, reference = pair
    found = paired_test(new, reference, confidence)
    assume(found.p is not None)
    assert found.low is not None
    assert found.high is not None
    assert found.p is not None
    assert found.p == pytest.approx(float(stats.ttest_rel(new, reference).pvalue), rel=1e-7)
    assume(abs(found.p - (1 - confidence)) > 1e-9)
    assert (found.low > 0 or found.high < 0) == (found.p < 1 - confidence)


@given(pairs)
def test_swapping_turns_the_sign(pair: Pair) -> None:
    new, reference = pair
    found, turned = paired_test(new, reference), paired_test(reference, new)
    assert found.p == turned.p
    assert found.t is None or found.t == -turned.t  # type: ignore[operator]
    assert found.low is None or found.low == -turned.high  # type: ignore[operator]


@pytest.mark.parametrize(
    ("new", "reference", "mean", "note"),
    [
        ([], [], None, "there are no pairs"),
        ([0.75], [0.5], 0.25, "one pair says nothing about the spread"),
        ([0.3, 0.4], [0.3, 0.4], 0.0, "all differences are equal"),
        ([0.3, 0.4], [0.2, 0.3], pytest.approx(0.1), "all differences are equal"),
    ],
)
def test_where_there_is_no_test_it_says_so(
    new: list[float], reference: list[float], mean: float | None, note: str
) -> None:
    found = paired_test(new, reference)
    assert (found.mean, found.note) == (mean, note)
    assert (found.t, found.df, found.p, found.low, found.high) == (None,) * 5
    assert not any(isinstance(value, float) and np.isnan(value) for value in dataclasses.astuple(found))


def test_bad_input() -> None:
    with pytest.raises(UserError, match="new: number 2"):
        paired_test([1, float("nan")], [1, 2])
    with pytest.raises(UserError, match="confidence must lie between 0 and 1"):
        paired_test([1, 2], [1, 3], confidence=95)
