import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from hybridal.evidence.statistics._ranks import midranks


@given(st.lists(st.integers(-5, 5).map(float), max_size=40))
def test_ranks_are_scipys(values: list[float]) -> None:
    assert midranks(np.array(values)).tolist() == rankdata(values).tolist()
