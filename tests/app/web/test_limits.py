from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.errors import TooOftenError
from hybridal.app.web.limits import Limit


@given(st.lists(st.floats(0, 30), max_size=60))
def test_no_minute_sees_more_than_twice_what_is_allowed(pauses: list[float]) -> None:
    time = 0.0
    limit = Limit(5, 60.0, clock=lambda: time)
    let_in: list[float] = []
    for pause in pauses:
        time += pause
        if limit.count("key"):
            let_in.append(time)
        assert sum(when > time - 60 for when in let_in) <= 10


def test_turns_come_back_evenly() -> None:
    time = 0.0
    limit = Limit(10, 60.0, clock=lambda: time)
    assert [limit.count("key") for _ in range(12)] == [True] * 10 + [False] * 2
    time = 6.5
    assert [limit.count("key") for _ in range(2)] == [True, False]
    with pytest.raises(TooOftenError):
        limit.insist("key")
    limit.insist("another")


def test_keys_that_were_seen_long_ago_are_forgotten() -> None:
    time = 0.0
    limit = Limit(5, 60.0, clock=lambda: time)
    for number in range(10_000):
        limit.count(number)
    time = 100.0
    limit.count("one more")
    assert len(limit._left) == 1
