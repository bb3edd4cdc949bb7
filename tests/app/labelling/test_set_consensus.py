"""Combine the sets of several people: compared with a brute force over every class."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.db.class_set import ClassSet, decode_set
from hybridal.app.labelling.consensus import CastVote, consensus_of, count_people, counts_of, is_open
from hybridal.app.labelling.set_consensus import agreed_set, disputed, settled_classes

CLASSES = (1, 2, 3)
UNNAMED = 9  # a class that no answer names

decisions = st.dictionaries(st.sampled_from(CLASSES), st.none() | st.booleans(), max_size=3)
whole = st.sets(st.sampled_from(CLASSES)).map(ClassSet.of)
sets = whole | decisions.map(ClassSet.partial)
answers = st.lists(sets.filter(lambda one: one.decides), min_size=1, max_size=5)


def yes_and_no(answers: list[ClassSet], number: int) -> tuple[int, int]:
    """How many people say that the text has a class, and that it has not."""
    given = [one.decision(number) for one in answers]
    return given.count(True), given.count(False)


@given(sets, sets)
def test_an_update_replaces_what_the_other_set_names(one: ClassSet, other: ClassSet) -> None:
    found = one.updated(other)
    for number in (*CLASSES, UNNAMED):
        replaced = other.absent is None or number in other.classes
        assert found.decision(number) == (other if replaced else one).decision(number)
    assert decode_set(found.encode()) == found
    assert not found.present & (found.absent or frozenset())
    assert not found.unknown & (found.present | (found.absent or frozenset()))


@given(sets, st.sets(st.sampled_from(CLASSES), min_size=1))
def test_a_set_is_completed_if_each_class_is_decided(one: ClassSet, classes: set[int]) -> None:
    found = one.completed(classes)
    if all(one.decision(number) is not None for number in classes):
        assert found == ClassSet.of(one.present)
    else:
        assert found is one


@given(sets)
def test_a_class_that_is_merged_or_deleted_takes_its_decision_along(one: ClassSet) -> None:
    found = one.renamed({1: 2, 2: 2, 3: 3}, {3})
    assert 3 not in found.classes
    assert 1 not in found.classes
    yes = {one.decision(1), one.decision(2)}
    if True in yes:
        assert found.decision(2) is True
    elif one.decision(2) is False and one.decision(1) is not None:
        assert found.decision(2) is False
    else:
        assert found.decision(2) is not True


@given(answers, st.booleans())
def test_each_class_is_settled_by_itself(answers: list[ClassSet], majority: bool) -> None:
    found = settled_classes(answers, majority)
    for number in (*CLASSES, UNNAMED):
        yes, no = yes_and_no(answers, number)
        expected = None
        if yes + no and (not (yes and no) or (majority and yes != no)):
            expected = yes > no
        assert found.decision(number) is expected


@given(answers, st.booleans())
def test_people_agree_on_a_set_if_no_class_is_contested(answers: list[ClassSet], majority: bool) -> None:
    contested = {number for number in CLASSES if all(yes_and_no(answers, number))}
    found = agreed_set(answers, majority)
    assert disputed(answers) == contested
    winner = next((one for one in answers if one.is_whole and 2 * answers.count(one) > len(answers)), None)
    if not contested:
        assert found == settled_classes(answers)
    elif majority and winner is not None:
        assert found == winner
    else:
        assert not found.decides
        assert found.unknown == contested


votes = st.lists(
    st.builds(
        CastVote,
        st.sampled_from(["person", "file", "llm"]),
        st.none() | sets,
        st.integers(1, 99),
        flagged=st.booleans(),
    ),
    max_size=4,
)


@given(votes, st.booleans(), st.booleans())
def test_people_override_the_file_and_the_file_the_llm_for_each_class(
    standing: list[CastVote], majority: bool, per_class: bool
) -> None:
    found = consensus_of(standing, majority, per_class)
    settle = settled_classes if per_class else agreed_set
    expected: dict[int, bool | None] = dict.fromkeys((*CLASSES, UNNAMED))
    for kind in ("llm", "file", "person"):
        given = [one.label for one in standing if one.kind == kind]
        theirs = [one for one in given if isinstance(one, ClassSet) and one.decides]
        if theirs:
            layer = settle(theirs, majority and kind == "person")
            for number in expected:
                if layer.absent is None or number in layer.classes:
                    expected[number] = layer.decision(number)
    label = ClassSet.partial({}) if found is None else found.label
    assert isinstance(label, ClassSet)
    assert {number: label.decision(number) for number in expected} == expected
    assert (found is None) == all(decided is None for decided in expected.values())
    counted = counts_of("pool", standing, found)
    people = [one.label for one in standing if one.kind == "person" and isinstance(one.label, ClassSet)]
    open_dispute = any(all(yes_and_no(people, number)) and expected[number] is None for number in CLASSES)
    assert (counted["disagreements"], counted["labelled"]) == (open_dispute, found is not None)


@given(votes, sets.filter(lambda one: one.decides))
def test_a_decision_of_a_reviewer_settles_the_classes_that_it_names(
    standing: list[CastVote], decided: ClassSet
) -> None:
    found = consensus_of([*standing, CastVote("person", decided, 100, decides=True)])
    assert found is not None
    assert isinstance(found.label, ClassSet)
    assert found.source == "adjudicated"
    for number in (*CLASSES, UNNAMED):
        if decided.decision(number) is not None:
            assert found.label.decision(number) is decided.decision(number)


def test_answers_to_some_classes_leave_a_text_open() -> None:
    some = CastVote("person", ClassSet.partial({1: True}))
    assert is_open(1, [some])
    assert count_people([some]) == 0
    assert not is_open(1, [some, CastVote("person", ClassSet.of([1]))])
    assert not is_open(1, [CastVote("file", ClassSet.of([])), some])
    assert is_open(1, [CastVote("person", ClassSet.partial({1: True}), 3, decides=True)])
    assert not is_open(1, [CastVote("person", ClassSet.of([]), 3, decides=True)])
