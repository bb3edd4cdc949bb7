from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.labelling.verdict import Said, Settled, disagree, flagged, settle

KINDS = ("person", "file", "llm")
SAID = st.builds(Said, st.sampled_from(KINDS), st.none() | st.integers(1, 3), st.integers(1, 99), flagged=st.booleans())


@given(st.lists(SAID, max_size=6))
def test_people_come_before_the_file_and_the_file_before_the_llm(standing: list[Said]) -> None:
    given = {kind: {said.class_number for said in standing if said.kind == kind} - {None} for kind in KINDS}
    first = next((kind for kind in KINDS if given[kind]), None)
    found = settle(standing)
    if first is None or len(given[first]) > 1:
        assert found is None
    else:
        assert found == Settled(next(iter(given[first])) or 0, "people" if first == "person" else first)


@given(st.lists(SAID, max_size=6), st.integers(1, 3))
def test_the_last_adjudication_wins_over_everybody(standing: list[Said], decided: int) -> None:
    earlier = Said("person", 1 + decided % 3, 100, decides=True)
    assert settle([Said("person", decided, 101, decides=True), *standing, earlier]) == Settled(decided, "adjudicated")


def test_skips_neither_settle_nor_disagree() -> None:
    assert settle([Said("person", None)]) is None
    assert not disagree([Said("person", None), Said("person", 1)])
    assert settle([Said("person", None), Said("file", 2)]) == Settled(2, "file")


def test_a_flag_stands_until_somebody_decides() -> None:
    raised = Said("person", 1, 5, flagged=True)
    assert flagged([raised, Said("person", 2, 4, decides=True)])
    assert not flagged([raised, Said("person", 2, 6, decides=True)])
