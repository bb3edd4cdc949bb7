from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from hybridal.acquisition import _kmeans
from hybridal.acquisition._kmeans import assigned, clusters
from hybridal.core.outputs import Floats, Ints


def inertia(points: Floats, labels: Ints) -> float:
    return sum(float(((points[labels == c] - points[labels == c].mean(0)) ** 2).sum()) for c in np.unique(labels))


def test_clear_groups_are_found() -> None:
    points, truth = make_blobs(300, centers=[[0, 0], [30, 0], [0, 30], [30, 30]], random_state=1)
    assert adjusted_rand_score(truth, clusters(points, 4, np.random.default_rng(1))) == 1.0


def test_it_is_about_as_good_as_sklearns() -> None:
    points = np.random.default_rng(1).normal(size=(400, 5))
    ours = inertia(points, clusters(points, 12, np.random.default_rng(1)))
    assert ours < 1.1 * KMeans(12, n_init=1, random_state=1).fit(points).inertia_


def test_a_sample_places_the_centres_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kmeans, "SAMPLE", 20)
    points, truth = make_blobs(2000, centers=[[0, 0], [30, 0], [0, 30]], random_state=1)
    assert adjusted_rand_score(truth, clusters(points, 3, np.random.default_rng(2))) == 1.0


def test_points_go_to_the_nearest_centre() -> None:
    rng = np.random.default_rng(3)
    points, centres = rng.normal(size=(50, 3)), rng.normal(size=(7, 3))
    expected = [int(np.argmin([((p - c) ** 2).sum() for c in centres])) for p in points]
    assert assigned(points, centres).tolist() == expected


def test_equal_points_are_no_trouble() -> None:
    assert len(clusters(np.ones((9, 2)), 4, np.random.default_rng(1))) == 9
