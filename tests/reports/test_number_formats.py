from collections.abc import Callable

import pytest

from hybridal.reports import number_formats as formats


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0.0, "0 s"),
        (0.0001, "< 1 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 0 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 0 min"),
        (90061.0, "25 h 1 min"),
    ],
)
def test_a_duration_never_shows_sixty_of_a_unit(seconds: float | None, text: str) -> None:
    assert formats.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.00099, "9.9e-4"), (0.001, "0.001"), (0.0050, "0.005"), (9.96, "10"), (25.4, "25"), (1e-12, "1e-12")],
)
def test_changes_keep_two_digits_that_count(value: float, text: str) -> None:
    assert formats.change(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (9999, "9,999"),
        (10_000, "10 thousand"),
        (999_999_999, "1 billion"),
        (999_999, "1 million"),
        (10**9, "1 billion"),
    ],
)
def test_big_counts(value: int, text: str) -> None:
    assert formats.big(value) == text


def test_none_is_a_dash_everywhere() -> None:
    assert {formats.count(None), formats.score(None), formats.change(None), formats.duration(None)} == {formats.NONE}


@pytest.mark.parametrize(
    ("shown", "texts"),
    [
        (formats.count, {1234567: "1,234,567"}),
        (formats.score, {0.87345: "0.873"}),
        (formats.change, {0.00426: "0.0043", 0.0000123: "1.2e-5", 1e-4: "1e-4", 0.0: "0", 1.0: "1", 1234.6: "1235"}),
        (formats.threshold, {0.005: "0.005", 1e-4: "0.0001", 0.03901235: "0.03901"}),
        (formats.big, {950: "950", 12345: "12.3 thousand", 1_200_000: "1.2 million", 3_210_000_000: "3.21 billion"}),
        (formats.duration, {0.0042: "4 ms", 3.21: "3.2 s", 75.4: "1 min 15 s", 3599.9: "1 h 0 min", 7384: "2 h 3 min"}),
        (formats.times, {1: "once", 2: "twice", 3: "three times", 12: "12 times"}),
        (formats.fixed(3), {0.81949: "0.819"}),
        (formats.fixed(0), {1509.4: "1,509"}),
        (formats.percent(), {0.93: "93%"}),
        (formats.percent(1), {-0.166: "−16.6%"}),
        (formats.signed(4), {0.0005: "+0.0005", -0.0045: "−0.0045"}),
        (formats.seconds, {1375.2: "1,375", 12.34: "12.3", 0.0421: "0.042"}),
        (formats.p_value, {0.0312: "0.031", 0.00001: "< 0.001"}),
    ],
)
def test_numbers_are_rounded_and_grouped(shown: Callable[[float], str], texts: dict[float, str]) -> None:
    assert {value: shown(value) for value in texts} == texts


def test_plurals_follow_the_number() -> None:
    assert [formats.counted(1, "round"), formats.counted(1200, "text")] == ["1 round", "1,200 texts"]
    assert formats.counted(2, "pass", "passes") == "2 passes"
    assert [formats.joined(list(items)) for items in ("4", "45", "456")] == ["4", "4 and 5", "4, 5 and 6"]
    assert [formats.rounds_between(3, 3), formats.rounds_between(1, 5)] == ["round 3", "rounds 1–5"]
    assert [formats.plain("a\n b\x00c"), formats.plain("x" * 30)] == ["a b c", "x" * 21 + "…"]
    assert formats.score(1.6, 2) == "1.60"
    assert formats.seconds(3.21, scale=1375.2) == "3"
    assert formats.with_spread(526.0, 19.0, formats.seconds) == "526 ± 19"
    assert formats.with_spread(0.8, None, formats.fixed(1)) == "0.8"
