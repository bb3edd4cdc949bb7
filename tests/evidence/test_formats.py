import pytest

from hybridal.evidence import formats


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
