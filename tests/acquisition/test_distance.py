from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from hybridal.acquisition._distance import finite, squared_distances
from hybridal.errors import UserError


def test_they_are_those_of_scipy() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(30, 5)) + 10, rng.normal(size=(20, 5)) + 10
    np.testing.assert_allclose(squared_distances(x, y), cdist(x, y, "sqeuclidean"), rtol=1e-9)


def test_equal_points_are_at_zero_and_none_is_below() -> None:
    x = np.random.default_rng(2).normal(size=(50, 300)).astype(np.float32) + 100
    distances = squared_distances(x, x)
    assert (np.diag(distances) == 0).all()
    assert (distances >= 0).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_refused(bad: float) -> None:
    rows = np.ones((3, 2))
    assert finite(rows) is rows
    with pytest.raises(UserError, match="not finite"):
        finite(np.array([[1.0, 2.0], [bad, 1.0]]))
