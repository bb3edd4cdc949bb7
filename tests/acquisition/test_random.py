from __future__ import annotations

from collections import Counter

import numpy as np

from hybridal.acquisition.random import Random
from hybridal.testing import FakeCandidates


def test_random_draws_every_candidate_equally_often() -> None:
    candidates = FakeCandidates.random(1, count=10)
    rng = np.random.default_rng(1)
    drawn = Counter(one for _ in range(2000) for one in Random().select(candidates, 3, rng).ids)
    assert set(drawn) == set(candidates.ids)
    assert all(abs(count - 600) < 100 for count in drawn.values())


def test_random_choice_depends_on_the_seed() -> None:
    candidates = FakeCandidates.random(1)
    one, two = (Random().select(candidates, 10, np.random.default_rng(seed)) for seed in (1, 2))
    assert set(one.ids) != set(two.ids)
