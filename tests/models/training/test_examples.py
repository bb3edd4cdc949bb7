from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hybridal.models.token_arrays import Tokens
from hybridal.models.training.examples import Examples


@given(st.integers(0, 50), st.integers(1, 20))
def test_each_example_comes_once_an_epoch(count: int, size: int) -> None:
    examples = Examples(Tokens.of([[1]] * count, pad=0), np.arange(count), np.zeros(count, dtype=np.int64))
    batches = examples.batches(size, np.random.default_rng(0))
    assert sorted(int(i) for batch in batches for i in batch) == list(range(count))
    assert all(len(batch) == size for batch in batches[:-1])
