from __future__ import annotations

import numpy as np

from hybridal.acquisition.least_confidence import LeastConfidence
from hybridal.testing import FakeCandidates


def test_least_confident_are_chosen() -> None:
    candidates = FakeCandidates.random(1)
    missing = {i: 1 - max(row) for i, row in zip(candidates.ids, candidates.probabilities().tolist(), strict=True)}
    expected = sorted(missing, key=lambda one: (-missing[one], one))[:15]
    found = LeastConfidence().select(candidates, 15, np.random.default_rng(0))
    assert list(found.ids) == expected
    assert list(found.scores) == [missing[one] for one in expected]
