from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from hybridal.acquisition import typiclust
from hybridal.acquisition.typiclust import TypiClust, typicality
from hybridal.core.outputs import Floats
from hybridal.testing import FakeCandidates


def blobs(sizes: list[int], labelled: list[int], seed: int = 1) -> tuple[FakeCandidates, Floats]:
    """Tight groups far apart, of which some have labelled members; ids begin with the group's number."""
    rng = np.random.default_rng(seed)
    centres = 100.0 * np.arange(len(sizes))[:, None] * np.ones(2)
    groups = [centre + rng.normal(size=(size, 2)) for centre, size in zip(centres, sizes, strict=True)]
    ids = [f"{g}-{i}" for g, size in enumerate(sizes) for i in range(size)]
    points = np.concatenate(groups)
    known = centres[labelled] if labelled else None
    return FakeCandidates(ids, np.full((len(ids), 2), 0.5), points, labelled_embeddings=known), points


def test_typicality_is_the_inverse_of_the_mean_distance_to_neighbours() -> None:
    points = np.random.default_rng(1).normal(size=(60, 3))
    distances, _ = NearestNeighbors(n_neighbors=6).fit(points).kneighbors(points)
    np.testing.assert_allclose(typicality(points, 5), 1 / (1 + distances[:, 1:].mean(1)), rtol=1e-9)


def test_largest_uncovered_groups_come_first() -> None:
    candidates, _ = blobs([10, 40, 20, 30], labelled=[1])
    found = TypiClust(most=4).select(candidates, 3, np.random.default_rng(1))
    assert [one[0] for one in found.ids] == ["3", "2", "0"]


def test_the_most_typical_member_is_chosen() -> None:
    candidates, points = blobs([10, 40], labelled=[0])
    (chosen,) = TypiClust(most=2, neighbours=5).select(candidates, 1, np.random.default_rng(1)).ids
    group = points[10:]
    assert chosen == f"1-{int(typicality(group.astype(np.float32), 5).argmax())}"


def test_least_covered_groups_come_next_when_all_are_covered() -> None:
    candidates, _ = blobs([10, 40], labelled=[0, 0, 1])
    found = TypiClust(most=2).select(candidates, 4, np.random.default_rng(1))
    assert [one[0] for one in found.ids] == ["1", "1", "0", "1"]


def test_huge_group_is_compared_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(typiclust, "MAX_COMPARED", 8)
    candidates, _ = blobs([30], labelled=[])
    found = TypiClust(most=1).select(candidates, 30, np.random.default_rng(1))
    assert sorted(found.ids) == sorted(candidates.ids)
    assert sum(score > 0 for score in found.scores) == 8


def test_zero_clusters_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 cluster"):
        TypiClust(most=0)
