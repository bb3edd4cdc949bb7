from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from hybridal.acquisition import _geometry
from hybridal.acquisition._geometry import (
    NUMBERS_PER_CHUNK,
    apart,
    assigned,
    chunks,
    clusters,
    finite,
    plus_plus,
    products,
    squared_distances,
    squared_norms,
)
from hybridal.core.outputs import Floats, Ints
from hybridal.errors import UserError


@given(st.integers(0, 5000), st.integers(0, 10 * NUMBERS_PER_CHUNK))
def test_chunks_cover_all_rows_once_within_the_limit(count: int, per_row: int) -> None:
    rows = list(range(count))
    pieces = [rows[some] for some in chunks(count, per_row)]
    assert [row for piece in pieces for row in piece] == rows
    assert all(len(piece) == 1 or len(piece) * per_row <= NUMBERS_PER_CHUNK for piece in pieces)


def test_distances_equal_scipy() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(30, 5)) + 10, rng.normal(size=(20, 5)) + 10
    np.testing.assert_allclose(squared_distances(x, y), cdist(x, y, "sqeuclidean"), rtol=1e-9)


def test_equal_points_are_at_zero_and_none_is_below() -> None:
    x = np.random.default_rng(2).normal(size=(50, 300)).astype(np.float32) + 100
    distances = squared_distances(x, x)
    assert (np.diag(distances) == 0).all()
    assert (distances >= 0).all()


def test_distances_to_one_row_in_any_order_are_those_of_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_geometry, "NUMBERS_PER_CHUNK", 20)
    rng = np.random.default_rng(3)
    rows, order = rng.normal(size=(30, 5)), rng.permutation(30)
    norms = squared_norms(rows, order)
    for place in (0, 7, 29):
        expected = cdist(rows[order], rows[order[place]][None], "sqeuclidean")[:, 0]
        found = apart(norms, products(rows, order, place), place)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        assert found[place] == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_points_are_refused(bad: float) -> None:
    rows = np.ones((3, 2))
    assert finite(rows) is rows
    with pytest.raises(UserError, match="not finite"):
        finite(np.array([[1.0, 2.0], [bad, 1.0]]))


def on(points: Floats, k: int, seed: int) -> tuple[list[int], list[float]]:
    return plus_plus(len(points), k, lambda i: ((points - points[i]) ** 2).sum(1), np.random.default_rng(seed))


def test_draws_follow_the_squared_distances() -> None:
    points = np.array([[0.0], [1.0], [3.0]])
    seconds = [on(points, 2, seed)[0] for seed in range(3000)]
    after_first = [second for first, second in seconds if first == 0]
    share = np.mean([second == 2 for second in after_first])
    assert abs(share - 9 / 10) < 0.03  # 9 against 1


def test_distances_are_those_to_the_nearest_before() -> None:
    points = np.random.default_rng(1).normal(size=(40, 3))
    chosen, distances = on(points, 10, 2)
    for t in range(1, 10):
        expected = min(((points[chosen[t]] - points[c]) ** 2).sum() for c in chosen[:t])
        assert np.isclose(distances[t], expected)


def test_points_are_not_drawn_twice_even_where_all_are_equal() -> None:
    chosen, distances = on(np.zeros((6, 2)), 6, 1)
    assert sorted(chosen) == list(range(6))
    assert distances == [0.0] * 6


def test_draws_are_at_most_the_number_of_points() -> None:
    assert len(on(np.random.default_rng(1).normal(size=(4, 2)), 9, 1)[0]) == 4
    assert plus_plus(0, 3, lambda _: np.empty(0), np.random.default_rng(1)) == ([], [])


def inertia(points: Floats, labels: Ints) -> float:
    return sum(float(((points[labels == c] - points[labels == c].mean(0)) ** 2).sum()) for c in np.unique(labels))


def test_clear_groups_are_found() -> None:
    points, truth = make_blobs(300, centers=[[0, 0], [30, 0], [0, 30], [30, 30]], random_state=1)
    assert adjusted_rand_score(truth, clusters(points, 4, np.random.default_rng(1))) == 1.0


def test_kmeans_is_about_as_good_as_sklearns() -> None:
    points = np.random.default_rng(1).normal(size=(400, 5))
    ours = inertia(points, clusters(points, 12, np.random.default_rng(1)))
    assert ours < 1.1 * KMeans(12, n_init=1, random_state=1).fit(points).inertia_


def test_a_sample_places_the_centres_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_geometry, "SAMPLE_PER_CLUSTER", 20)
    points, truth = make_blobs(2000, centers=[[0, 0], [30, 0], [0, 30]], random_state=1)
    assert adjusted_rand_score(truth, clusters(points, 3, np.random.default_rng(2))) == 1.0


def test_points_go_to_the_nearest_centre() -> None:
    rng = np.random.default_rng(3)
    points, centres = rng.normal(size=(50, 3)), rng.normal(size=(7, 3))
    expected = [int(np.argmin([((p - c) ** 2).sum() for c in centres])) for p in points]
    assert assigned(points, centres).tolist() == expected


def test_equal_points_can_be_clustered() -> None:
    assert len(clusters(np.ones((9, 2)), 4, np.random.default_rng(1))) == 9
