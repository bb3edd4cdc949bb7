from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.labelling.split import due, reserve

PLAN = {"validation_first": 50, "validation_share": 0.1, "budget": 800}


@given(st.integers(0, 3000), st.lists(st.integers(1, 3000), max_size=5))
def test_the_reserve_is_as_dense_among_later_texts_as_among_the_first(first: int, later: list[int]) -> None:
    held_out = reserve(first, PLAN)
    assert held_out == min(130, first // 5)
    for new in later:
        drawn = reserve(new, PLAN, first, held_out)
        assert abs(drawn - new * held_out / first) <= 0.5 if first else drawn == min(130, new // 5)
        first, held_out = first + new, held_out + drawn


@given(st.integers(0, 60), st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.5]), st.integers(1, 400))
def test_the_share_is_kept_all_along(first: int, share: float, n: int) -> None:
    splits = due(n, 0, 0, first, share)
    for i in range(1, n + 1):
        validation = splits[:i].count("validation")
        if i <= 2 * first:
            assert validation == (i + 1) // 2
        else:
            # Out of those that follow, as many as the share says, rounded down.
            assert validation - first == int((i - 2 * first) * round(share * 1000) // 1000)


def test_one_validation_text_follows_nine_others() -> None:
    assert due(20, 50, 50, 50, 0.1) == (["pool"] * 9 + ["validation"]) * 2


def test_asking_one_by_one_is_the_same_as_asking_for_many() -> None:
    validation = pool = 0
    one_by_one = []
    for _ in range(200):
        [split] = due(1, validation, pool, 20, 0.1)
        one_by_one.append(split)
        validation, pool = one_by_one.count("validation"), one_by_one.count("pool")
    assert one_by_one == due(200, 0, 0, 20, 0.1)
