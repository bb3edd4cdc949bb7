from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from hybridal.acquisition.bald import Bald, disagreement
from hybridal.testing import FakeCandidates


def test_bald_score_is_the_mutual_information() -> None:
    sampled = np.random.default_rng(1).dirichlet(np.ones(4), size=(6, 50))
    expected = scipy.stats.entropy(sampled.mean(0), axis=1) - scipy.stats.entropy(sampled, axis=2).mean(0)
    np.testing.assert_allclose(disagreement(sampled), expected, atol=1e-12)


def test_bald_ranks_ties_by_id() -> None:
    one = np.random.default_rng(2).dirichlet(np.ones(4), size=30)
    candidates = FakeCandidates([f"{i:02}" for i in range(30)], one, sampled=np.stack([one] * 5))
    found = Bald(5).select(candidates, 3, np.random.default_rng(0))
    assert (found.ids, found.scores) == (("00", "01", "02"), (0.0, 0.0, 0.0))


def test_number_of_passes_comes_from_the_spec() -> None:
    asked = []

    class Counts(FakeCandidates):
        def sampled_probabilities(self, passes: int) -> np.ndarray[tuple[int, ...], np.dtype[np.floating]]:
            asked.append(passes)
            return super().sampled_probabilities(passes)

    Bald(7).select(Counts(["a"], [[0.5, 0.5]]), 1, np.random.default_rng(0))
    assert asked == [7]


def test_one_pass_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 2 passes"):
        Bald(1)
