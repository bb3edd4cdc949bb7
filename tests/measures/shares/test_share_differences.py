from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint  # type: ignore[import-untyped]

from hybridal.measures.shares.estimators import Estimates
from hybridal.measures.shares.share_differences import difference


def test_with_wilson_intervals_it_is_the_method_of_newcombe() -> None:
    counts = ((12, 80), (5, 120))
    parts = []
    for hits, n in counts:
        low, high = proportion_confint(hits, n, method="wilson")
        parts.append(Estimates(np.array([hits / n]), np.array([low]), np.array([high]), np.array([n])))
    found = difference(*parts)
    low, high = confint_proportions_2indep(*counts[0], *counts[1], method="newcomb", compare="diff")
    assert (found.low[0], found.high[0]) == pytest.approx((low, high))
    assert found.labels.tolist() == [200]
