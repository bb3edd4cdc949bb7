from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from hybridal.acquisition import _geometry
from hybridal.acquisition.cal import Cal, contrast
from hybridal.errors import UserError
from hybridal.testing import FakeCandidates


def written_out(candidates: FakeCandidates, k: int) -> dict[str, float]:
    known, answers = candidates.labelled_embeddings(), candidates.labelled_probabilities().astype(np.float64)
    scores = {}
    for one, p, h in zip(candidates.ids, candidates.probabilities(), candidates.embeddings(), strict=True):
        near = np.argsort(np.linalg.norm(known - h, axis=1))[:k]
        scores[one] = float(np.mean([scipy.stats.entropy(answers[j], p.astype(np.float64)) for j in near]))
    return scores


@pytest.mark.parametrize("k", [1, 10, 99])
def test_cal_score_is_the_mean_divergence_from_the_nearest_labelled_texts(
    k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_geometry, "NUMBERS_PER_CHUNK", 500)
    candidates = FakeCandidates.random(1)
    expected = written_out(candidates, k)
    found = Cal(k).select(candidates, 15, np.random.default_rng(0))
    assert list(found.ids) == sorted(expected, key=lambda one: -expected[one])[:15]
    np.testing.assert_allclose(found.scores, [expected[one] for one in found.ids], rtol=1e-5)


def test_zero_probability_gives_a_finite_divergence() -> None:
    (far,) = contrast(np.array([[1.0, 0.0]]), np.array([[[0.0, 1.0]]]))
    assert 80 < far < 90


def test_cal_without_labelled_texts_is_refused() -> None:
    with pytest.raises(UserError, match="needs labelled texts"):
        Cal().select(FakeCandidates(["a"], [[0.5, 0.5]]), 1, np.random.default_rng(0))


def test_zero_neighbours_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 neighbour"):
        Cal(0)
