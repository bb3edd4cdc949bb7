import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.llm.waiting import Pace, pause


@given(st.integers(1, 40), st.integers())
def test_pauses_double_up_to_a_minute_and_are_shaken(attempt: int, seed: int) -> None:
    whole = min(60, 2 ** (attempt - 1))
    assert whole / 2 <= pause(attempt, None, random.Random(seed)) <= whole


def test_a_date_is_waited_for() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=100))
    assert 95 < pause(1, soon, random.Random(0)) <= 100
    assert pause(1, format_datetime(datetime.now(UTC) - timedelta(days=1)), random.Random(0)) <= 1


@pytest.mark.parametrize("nonsense", ["", "soon", "-5", "nan", "Mon, 99 Foo 2020"])
def test_nonsense_is_as_good_as_nothing(nonsense: str) -> None:
    assert 0.5 <= pause(1, nonsense, random.Random(0)) <= 1


def test_nobody_can_make_us_wait_for_ever() -> None:
    assert pause(1, "1e9", random.Random(0)) == 300
    assert pause(1, "inf", random.Random(0)) == 300


def test_questions_are_spread_over_the_minute() -> None:
    time, slept = [100.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        time[0] += seconds

    pace = Pace(30, lambda: time[0], sleep)
    for _ in range(4):
        pace.wait()
    assert slept == [2, 2, 2]
    time[0] += 60
    pace.wait()
    assert len(slept) == 3
