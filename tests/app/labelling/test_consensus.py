from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.labelling.consensus import CastVote, Resolution, consensus_of, counts_of, flagged

KINDS = ("person", "file", "llm")
VOTES = st.builds(
    CastVote, st.sampled_from(KINDS), st.none() | st.integers(1, 3), st.integers(1, 99), flagged=st.booleans()
)


@given(st.lists(VOTES, max_size=6))
def test_people_come_before_the_file_and_the_file_before_the_llm(standing: list[CastVote]) -> None:
    given = {kind: {vote.label for vote in standing if vote.kind == kind} - {None} for kind in KINDS}
    first = next((kind for kind in KINDS if given[kind]), None)
    found = consensus_of(standing)
    if first is None or len(given[first]) > 1:
        assert found is None
    else:
        assert found == Resolution(next(iter(given[first])) or 0, "people" if first == "person" else first)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=7))
def test_a_majority_is_more_than_half(classes: list[int]) -> None:
    most = [one for one in set(classes) if classes.count(one) > len(classes) / 2]
    found = consensus_of([CastVote("person", one) for one in classes], majority=True)
    assert found == (Resolution(most[0], "people") if most else None)
    assert consensus_of([CastVote("llm", one) for one in [1, 1, 2]], majority=True) is None  # of people alone


@given(st.lists(VOTES, max_size=6), st.integers(1, 3))
def test_the_last_adjudication_wins_over_everybody(standing: list[CastVote], decided: int) -> None:
    earlier = CastVote("person", 1 + decided % 3, 100, decides=True)
    assert consensus_of([CastVote("person", decided, 101, decides=True), *standing, earlier]) == Resolution(
        decided, "adjudicated"
    )


def test_skips_neither_settle_nor_disagree() -> None:
    assert consensus_of([CastVote("person", None)]) is None
    assert consensus_of([CastVote("person", None), CastVote("person", 1)]) == Resolution(1, "people")
    assert consensus_of([CastVote("person", None), CastVote("file", 2)]) == Resolution(2, "file")


def test_flag_stays_until_a_decision() -> None:
    raised = CastVote("person", 1, 5, flagged=True)
    assert flagged([raised, CastVote("person", 2, 4, decides=True)])
    assert not flagged([raised, CastVote("person", 2, 6, decides=True)])


def counted_in(split: str, votes: list[CastVote]) -> Counter[str]:
    return counts_of(split, votes, consensus_of(votes))


def test_a_text_counts_where_it_belongs() -> None:
    counted = {
        "no votes": (counted_in("pool", []), {"texts"}),
        "validation": (counted_in("validation", [CastVote("person", 1)]), {"texts", "labelled", "validation"}),
        "the file": (counted_in("pool", [CastVote("file", 1)]), {"texts", "labelled", "pool"}),
        "skipped": (counted_in("pool", [CastVote("person", None)]), {"texts", "skipped"}),
        "skipped, then labelled": (
            counted_in("pool", [CastVote("person", None), CastVote("person", 1)]),
            {"texts", "labelled", "pool"},
        ),
        "disagreed": (counted_in("pool", [CastVote("person", 1), CastVote("person", 2)]), {"texts", "disagreements"}),
    }
    for what, (found, expected) in counted.items():
        assert set(found) == expected, what
        assert set(found.values()) == {1}
