from __future__ import annotations

import numpy as np

from hybridal.acquisition._seeding import plus_plus
from hybridal.core.outputs import Floats


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


def test_no_more_than_there_are() -> None:
    assert len(on(np.random.default_rng(1).normal(size=(4, 2)), 9, 1)[0]) == 4
    assert plus_plus(0, 3, lambda _: np.empty(0), np.random.default_rng(1)) == ([], [])
