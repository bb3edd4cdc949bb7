from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.labelling.consensus import CastVote, count_people, is_open

VOTES = st.builds(
    CastVote, st.sampled_from(["person", "file", "llm"]), st.none() | st.integers(1, 2), st.integers(1, 99)
)


@given(st.integers(1, 3), st.lists(VOTES, max_size=4))
def test_text_closes_after_enough_annotations(wanted: int, standing: list[CastVote]) -> None:
    if count_people(standing) >= wanted:
        assert not is_open(wanted, standing)


@given(st.integers(1, 3), st.lists(VOTES, max_size=4))
def test_decided_text_is_closed(wanted: int, standing: list[CastVote]) -> None:
    assert not is_open(wanted, [*standing, CastVote("person", 1, 100, decides=True)])


def test_text_is_open_when_file_and_llm_disagree_or_are_missing() -> None:
    assert is_open(1, [CastVote("llm", None)])
    assert is_open(1, [CastVote("person", None)])
    assert is_open(1, [CastVote("llm", 1), CastVote("llm", 2)])
    assert not is_open(1, [CastVote("llm", 1)])
