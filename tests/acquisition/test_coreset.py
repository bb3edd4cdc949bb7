from __future__ import annotations

import numpy as np
import pytest

from hybridal.acquisition import _geometry
from hybridal.acquisition.coreset import Coreset
from hybridal.testing import FakeCandidates


def naive(candidates: FakeCandidates, n: int) -> list[str]:
    """k-center greedy that recomputes every distance."""
    points = dict(zip(candidates.ids, candidates.embeddings().astype(np.float64), strict=True))
    centres = list(candidates.labelled_embeddings().astype(np.float64))
    chosen: list[str] = []
    for _ in range(n):
        far = {i: min(np.linalg.norm(p - c) for c in centres) for i, p in points.items() if i not in chosen}
        chosen.append(min(far, key=lambda one: (-far[one], one)))
        centres.append(points[chosen[-1]])
    return chosen


@pytest.mark.parametrize("seed", range(4))
def test_coreset_equals_naive_greedy(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_geometry, "NUMBERS_PER_CHUNK", 500)
    candidates = FakeCandidates.random(seed, count=80)
    found = Coreset().select(candidates, 10, np.random.default_rng(0))
    assert list(found.ids) == naive(candidates, 10)
    assert list(found.scores) == sorted(found.scores, reverse=True)


def test_coreset_ranks_ties_by_id() -> None:
    candidates = FakeCandidates(["b", "a", "c"], [[0.5, 0.5]] * 3, [[1.0]] * 3, labelled_embeddings=[[0.0]])
    found = Coreset().select(candidates, 3, np.random.default_rng(0))
    assert (found.ids, found.scores) == (("a", "b", "c"), (1.0, 0.0, 0.0))


def test_coreset_works_without_labelled_texts() -> None:
    candidates = FakeCandidates(["a", "b", "c"], [[0.5, 0.5]] * 3, [[0.0], [1.0], [8.0]])
    assert Coreset().select(candidates, 1, np.random.default_rng(0)).ids == ("c",)
