from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bench.growth import many


@given(count=st.integers(1, 200), given_texts=st.integers(1, 7))
def test_all_texts_of_a_large_pool_are_different(count: int, given_texts: int) -> None:
    task = many([f"text{number}" for number in range(given_texts)], count)
    assert len(set(task.train.texts)) == len(set(task.train.ids)) == len(task.train) == count
