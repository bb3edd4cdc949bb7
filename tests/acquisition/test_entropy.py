from __future__ import annotations

import numpy as np
import scipy.stats

from hybridal.acquisition import _geometry
from hybridal.acquisition.entropy import Entropy, entropies
from hybridal.testing import FakeCandidates


def test_entropies_equal_scipy() -> None:
    probabilities = np.random.default_rng(1).dirichlet(np.ones(5), size=100)
    probabilities[0] = [1, 0, 0, 0, 0]
    np.testing.assert_allclose(entropies(probabilities), scipy.stats.entropy(probabilities, axis=1), atol=1e-12)


def test_entropies_do_not_depend_on_chunks() -> None:
    probabilities = np.random.default_rng(2).dirichlet(np.ones(5), size=100)
    whole = entropies(probabilities)
    parts = np.concatenate(
        [entropies(probabilities[some]) for some in _geometry.chunks(100, _geometry.NUMBERS_PER_CHUNK // 7)]
    )
    np.testing.assert_array_equal(whole, parts)


def test_highest_entropies_are_chosen() -> None:
    candidates = FakeCandidates.random(3)
    scores = scipy.stats.entropy(candidates.probabilities().astype(np.float64), axis=1)
    expected = [candidates.ids[i] for i in np.argsort(-scores)[:10]]
    found = Entropy().select(candidates, 10, np.random.default_rng(0))
    assert list(found.ids) == expected
    np.testing.assert_allclose(found.scores, np.sort(scores)[::-1][:10], rtol=1e-6)
