from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest

from hybridal.acquisition import _geometry
from hybridal.acquisition.badge import Badge
from hybridal.errors import UserError
from hybridal.testing import FakeCandidates


def multiplied_out(candidates: FakeCandidates, n: int, rng: np.random.Generator) -> tuple[list[str], list[float]]:
    """BADGE as published: every C×E gradient written down, then k-means++ with the same draws."""
    order = sorted(range(len(candidates.ids)), key=lambda i: candidates.ids[i])
    gradients = []
    for i in order:
        p, h = candidates.probabilities()[i].astype(np.float64), candidates.embeddings()[i].astype(np.float64)
        error = p.copy()
        error[p.argmax()] -= 1
        gradients.append(np.outer(error, h).ravel())
    chosen = [int(rng.integers(len(order)))]
    scores = [float((gradients[chosen[0]] ** 2).sum())]
    while len(chosen) < n:
        nearest = [min(float(((g - gradients[c]) ** 2).sum()) for c in chosen) for g in gradients]
        draw = rng.random() * sum(nearest)
        place = next(i for i, passed in enumerate(accumulate(nearest)) if passed > draw)
        chosen.append(place)
        scores.append(nearest[place])
    return [candidates.ids[order[place]] for place in chosen], scores


@pytest.mark.parametrize("seed", range(4))
def test_badge_equals_kmeans_plus_plus_on_outer_products(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_geometry, "NUMBERS_PER_CHUNK", 500)
    candidates = FakeCandidates.random(seed, count=80)
    found = Badge().select(candidates, 12, np.random.default_rng(seed))
    ids, scores = multiplied_out(candidates, 12, np.random.default_rng(seed))
    assert list(found.ids) == ids
    np.testing.assert_allclose(found.scores, scores, rtol=1e-9)


def test_equal_candidates_are_not_both_chosen_while_others_are_left() -> None:
    candidates = FakeCandidates.random(1, ties=True)
    found = Badge().select(candidates, 5, np.random.default_rng(1))
    rows = [candidates.embeddings()[candidates.ids.index(one)].tobytes() for one in found.ids]
    assert len(set(rows)) == 5


def test_non_finite_outputs_are_refused() -> None:
    with pytest.raises(UserError, match="not finite"):
        Badge().select(FakeCandidates(["a", "b"], [[0.5, 0.5]] * 2, [[1.0], [np.nan]]), 1, np.random.default_rng(0))
