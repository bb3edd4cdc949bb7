from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

from hybridal.app.insight.proportion import wilson


@given(st.integers(1, 5000), st.data())
def test_the_interval_is_that_of_statsmodels(n: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, n))
    low, high = wilson(right, n)
    assert (low, high) == pytest.approx(proportion_confint(right, n, method="wilson"), abs=1e-12)
    assert 0 <= low <= right / n <= high <= 1


def test_of_nothing_nothing_is_known() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
