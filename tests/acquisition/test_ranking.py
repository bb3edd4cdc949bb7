from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybridal.acquisition import Selection
from hybridal.acquisition._ranking import canonical, top
from hybridal.errors import UserError


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 4), max_size=30), st.integers(0, 35), st.integers(0, 10**6))
def test_top_is_the_head_of_a_full_sort(levels: list[int], n: int, seed: int) -> None:
    ids = [f"{i}" for i in range(len(levels))]  # "10" before "2": ids are strings
    scores = np.array(levels) / 4
    expected = sorted(zip(-scores, ids, strict=True))[:n]
    found = top(ids, scores, n)
    assert found == Selection(tuple(i for _, i in expected), tuple(float(-s) for s, _ in expected))
    order = np.random.default_rng(seed).permutation(len(ids))
    assert top([ids[i] for i in order], scores[order], n) == found


def test_top_of_a_million_ties_takes_the_first_ids() -> None:
    ids = [str(i) for i in range(10**6)]
    assert top(ids, np.zeros(10**6), 32).ids[:4] == ("0", "1", "10", "100")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_non_finite_score_names_its_candidate(bad: float) -> None:
    with pytest.raises(UserError, match="candidate 'b'"):
        top(["a", "b"], np.array([0.5, bad]), 1)


def test_canonical_order_is_that_of_strings() -> None:
    assert canonical(["10", "9", "1"]).tolist() == [2, 0, 1]
    assert canonical([]).tolist() == []
