from __future__ import annotations

import numpy as np

from hybridal.acquisition.entropy import Entropy
from hybridal.acquisition.margin import Margin
from hybridal.testing import FakeCandidates


def test_smallest_margins_are_chosen() -> None:
    candidates = FakeCandidates.random(1)
    margins = {}
    for one, row in zip(candidates.ids, candidates.probabilities().tolist(), strict=True):
        first, second = sorted(row, reverse=True)[:2]
        margins[one] = first - second
    expected = sorted(margins, key=lambda one: (margins[one], one))[:15]
    found = Margin().select(candidates, 15, np.random.default_rng(0))
    assert list(found.ids) == expected
    assert list(found.scores) == [-margins[one] for one in expected]


def test_margin_works_with_two_classes() -> None:
    candidates = FakeCandidates(["a", "b"], [[0.75, 0.25], [0.5, 0.5]])
    assert Margin().select(candidates, 2, np.random.default_rng(0)).ids == ("b", "a")


def test_margin_of_one_class_ranks_by_id() -> None:
    candidates = FakeCandidates(["b", "a"], [[1.0], [1.0]])
    found = Margin().select(candidates, 2, np.random.default_rng(0))
    assert (found.ids, found.scores) == (("a", "b"), (-1.0, -1.0))


def test_margin_equals_entropy_with_two_classes() -> None:
    likely = np.random.default_rng(3).uniform(size=40)
    candidates = FakeCandidates([f"t{n}" for n in range(40)], [[p, 1 - p] for p in likely.tolist()])
    chosen = {type(one): one.select(candidates, 25, np.random.default_rng(0)).ids for one in (Margin(), Entropy())}
    assert chosen[Margin] == chosen[Entropy]
