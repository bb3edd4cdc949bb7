from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from hybridal.core.outputs import Floats
from hybridal.errors import UserError
from hybridal.loop import first_draw as room
from hybridal.loop.first_draw import by_name, directions, first_draw

# Few values, so that duplicates, zero rows and ties are common.
embeddings = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.sampled_from([-2, 0, 1]))
seeds = st.integers(0, 5)


def blobs(sizes: list[int], seed: int = 1, spread: float = 0.1) -> tuple[Floats, NDArray[np.intp]]:
    """Tight groups in unlike directions, the rows mixed; and the group of each row."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return np.eye(8)[group] + spread * rng.normal(size=(len(group), 8)), group


def draw(points: Floats, n: int, seed: int = 0, names: Floats | None = None) -> list[int]:
    return [int(row) for row in first_draw(points, n, np.random.default_rng(seed), names)]


@settings(deadline=None)
@given(embeddings, st.integers(0, 15), seeds, st.booleans())
def test_rows_are_distinct_and_as_many_as_there_are(points: Floats, n: int, seed: int, named: bool) -> None:
    found = draw(points, n, seed, points[:3] if named else None)
    assert len(set(found)) == len(found) == min(n, len(points))
    assert set(found) <= set(range(len(points)))


@settings(deadline=None)
@given(embeddings, st.integers(0, 12), seeds, st.booleans())
def test_smaller_draw_is_a_prefix_of_a_larger_one(points: Floats, k: int, seed: int, named: bool) -> None:
    names = points[:3] if named else None
    assert draw(points, k, seed, names) == draw(points, len(points), seed, names)[:k]


@settings(deadline=None)
@given(embeddings, st.integers(-3, 3), seeds)
def test_vector_length_does_not_matter(points: Floats, power: int, seed: int) -> None:
    lengths = 2.0 ** (power + np.arange(len(points)) % 3)
    assert draw(points, 12, seed) == draw(points * lengths[:, None].astype(np.float32), 12, seed)


@pytest.mark.parametrize("sizes", [[30, 30, 30], [50, 5, 20, 10], [200, 6], [9, 8, 7, 6, 5, 4, 3]])
def test_each_group_is_visited_before_any_is_visited_twice(sizes: list[int]) -> None:
    points, group = blobs(sizes)
    assert sorted(group[draw(points, len(sizes))]) == list(range(len(sizes)))


def test_the_largest_group_comes_first_by_its_middle() -> None:
    points, group = blobs([10, 40, 20])
    first = draw(points, 1)[0]
    assert group[first] == 1
    away = np.linalg.norm(points - points[group == 1].mean(axis=0), axis=1)
    assert away[first] < np.median(away[group == 1])


def test_outlier_is_drawn_last() -> None:
    points, _ = blobs([30, 30])
    odd = np.concatenate([points, -5.0 * np.eye(8)[:1]])
    assert 60 not in draw(odd, 2)


def test_every_choice_has_the_highest_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "GAINS_PER_UPDATE", 3)
    points = np.random.default_rng(2).normal(size=(60, 8))
    at = directions(points, centring=room.CENTRING).astype(np.float64)
    similar = np.maximum(at @ at.T, 0.0)
    found = draw(points, 20)
    for k, row in enumerate(found):
        gains = np.maximum(similar - similar[found[:k]].max(axis=0, initial=0.0), 0.0).sum(axis=1)
        assert gains[row] == pytest.approx(gains.max())  # not the row itself: two that are near to each other only tie


def test_texts_near_names_are_taken_in_turn() -> None:
    points, group = blobs([40, 40, 20, 20])  # the names are of the two small groups
    found = group[draw(points, 8, names=np.eye(8)[[2, 3]])]
    assert set(found[[0, 2]]) == {2, 3}
    assert {0, 1} <= set(found)


def test_of_more_texts_than_are_represented_all_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    points, group = blobs([40, 30, 20])
    monkeypatch.setattr(room, "MAX_REPRESENTED", 30)
    assert set(group[draw(points, 3)]) == {0, 1, 2}
    assert sorted(draw(points, 90)) == list(range(90))


def test_uninformative_names_leave_every_other_choice() -> None:
    points, group = blobs([30, 20, 10])
    assert set(group[draw(points, 6, names=np.random.default_rng(3).normal(size=(5, 8)))]) == {0, 1, 2}
    assert draw(points, 9, names=np.zeros((0, 8))) == draw(points, 9, names=np.ones((1, 8))) == draw(points, 9)


def test_a_name_near_to_all_does_not_take_all() -> None:
    points = np.random.default_rng(1).normal(size=(100, 4)) + np.array([3.0, 0.0, 0.0, 0.0])
    nearest, clear = by_name(points, np.eye(4)[:2])
    assert 25 < nearest.sum() < 75
    assert 25 <= clear.sum() <= 26


@pytest.mark.parametrize("make", [np.zeros, np.ones])
def test_equal_texts_are_drawn_in_random_order(make: Callable[[tuple[int, int]], Floats]) -> None:
    found = draw(make((20, 4)), 99)
    assert sorted(found) == list(range(20)) != found
    assert draw(make((20, 4)), 99, seed=1) != found


def test_more_equal_texts_than_are_looked_at_together_are_drawn_all_the_same() -> None:
    rows = np.random.default_rng(0).normal(size=(400, 24)).astype(np.float32)
    drawn = draw(rows[np.arange(2000) % 400], 500)
    assert len({*drawn}) == 500
    assert len({row % 400 for row in drawn[:350]}) > 300  # a text that was drawn adds nothing by its double


def test_first_draw_of_one_text_and_of_none() -> None:
    assert draw(np.ones((1, 4)), 5) == [0]
    assert draw(np.ones((0, 4)), 5) == draw(np.ones((0, 4)), 5, names=np.eye(4)) == []


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_embeddings_are_refused(bad: float) -> None:
    points = np.ones((4, 2))
    points[2, 1] = bad
    with pytest.raises(UserError, match="text 2 is not finite"):
        draw(points, 2)
    with pytest.raises(UserError, match="class name 2 is not finite"):
        draw(np.ones((4, 2)), 2, names=points)


def test_names_of_another_encoder_are_refused() -> None:
    with pytest.raises(UserError, match="same encoder"):
        draw(np.ones((4, 2)), 2, names=np.ones((2, 3)))
