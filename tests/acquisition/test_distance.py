from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from hybridal.acquisition import _chunks
from hybridal.acquisition._distance import apart, finite, products, squared_distances, squared_norms
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


def test_distances_to_one_row_in_any_order_are_those_of_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_chunks, "NUMBERS", 20)
    rng = np.random.default_rng(3)
    rows, order = rng.normal(size=(30, 5)), rng.permutation(30)
    norms = squared_norms(rows, order)
    for place in (0, 7, 29):
        expected = cdist(rows[order], rows[order[place]][None], "sqeuclidean")[:, 0]
        found = apart(norms, products(rows, order, place), place)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        assert found[place] == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_refused(bad: float) -> None:
    rows = np.ones((3, 2))
    assert finite(rows) is rows
    with pytest.raises(UserError, match="not finite"):
        finite(np.array([[1.0, 2.0], [bad, 1.0]]))
