from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.insight.class_agreement import ClassAgreement, SetRating
from hybridal.app.insight.set_agreement import (
    Contested,
    masi_distances,
    set_agreement,
    set_agreement_report,
)
from hybridal.app.insight.set_votes import set_disagreements, set_ratings
from hybridal.app.labelling.annotations import annotate
from hybridal.app.project import Project
from hybridal.tasks.answers import Decisions

from ..made_up import make, me, people

SETS = st.frozensets(st.sampled_from("abcd"))
ANSWERS = st.lists(
    st.tuples(st.sampled_from("stuvwxyz"), st.sampled_from(["Ann", "Bo", "Cy"]), SETS),
    unique_by=lambda answer: answer[:2],
    max_size=24,
)


def masi(one: frozenset[str], other: frozenset[str]) -> Fraction:
    """The definition of Passonneau (2006), case by case."""
    if one == other:
        return Fraction(0)
    if not one & other:
        return Fraction(1)
    monotone = Fraction(2, 3) if one < other or other < one else Fraction(1, 3)
    return 1 - Fraction(len(one & other), len(one | other)) * monotone


def by_pairs(answers: list[tuple[str, str, frozenset[str]]]) -> Fraction | None:
    """The definition of α, pair by pair."""
    texts: dict[str, list[frozenset[str]]] = {}
    for text, _, classes in answers:
        texts.setdefault(text, []).append(classes)
    units = [given for given in texts.values() if len(given) > 1]
    everything = [classes for given in units for classes in given]
    n = len(everything)
    if not n:
        return None
    within = (sum(masi(*pair) for pair in permutations(given, 2)) / Fraction(len(given) - 1) for given in units)
    observed = sum(within) / Fraction(n)
    expected = sum(masi(*pair) for pair in permutations(everything, 2)) / Fraction(n * (n - 1))
    return 1 - observed / expected if expected else None


@given(st.lists(SETS, unique=True, min_size=1))
def test_distances_are_those_of_the_definition(sets: list[frozenset[str]]) -> None:
    expected = [[float(masi(one, other)) for other in sets] for one in sets]
    assert masi_distances(sets) == pytest.approx(np.array(expected))


@given(ANSWERS)
def test_alpha_equals_its_definition_by_pairs(answers: list[tuple[str, str, frozenset[str]]]) -> None:
    known = by_pairs(answers)
    assert set_agreement(answers).alpha == (None if known is None else pytest.approx(float(known)))


def test_a_worked_example() -> None:
    # The value of nltk 3.10.4, AnnotationTask(data, masi_distance).alpha(), whose distance is undefined for empty sets.
    rows = [["a", "ab", "", "c", "bcd", "ad"], ["ab", "ab", "a", "c", "cd", "b"], ["a", "b", "", "cd", "bcd", "ab"]]
    answers: list[SetRating] = [
        (f"t{at}", f"p{row}", frozenset(one)) for row, given in enumerate(rows) for at, one in enumerate(given)
    ]
    assert set_agreement(answers).alpha == pytest.approx(0.3423743886171633, abs=1e-12)


def test_the_report_names_classes_on_which_people_differ() -> None:
    answers: list[SetRating] = [
        ("1", "Ann", frozenset("ab")),
        ("1", "Bo", frozenset("a")),
        ("2", "Ann", frozenset()),
        ("2", "Bo", frozenset()),
        ("3", "Ann", frozenset("b")),
        ("3", "Bo", Decisions.of({"b": False, "a": False})),
        ("4", "Bo", frozenset("c")),
    ]
    found = set_agreement_report(answers, ["a", "b", "c"])
    assert (found.texts, found.pairs) == (2, 2)
    [pair] = found.between
    assert (pair.texts, pair.agreed, pair.contested) == (2, 0.5, (Contested("b", 2, 0),))
    assert [(one.name, one.texts, one.agreed) for one in found.people] == [("Ann", 3, 0.5), ("Bo", 3, 0.5)]
    a, b, c = found.classes
    assert (a, c) == (ClassAgreement("a", 1.0, None, None, 3, 2), ClassAgreement("c", None, None, None, 2, 0))
    assert (b.texts, b.given) == (3, 2)


def test_nothing_to_compare() -> None:
    found = set_agreement_report([], ["a"])
    assert (found.alpha, found.between, found.note) == (None, (), "no text has been labelled by two people")


def test_votes_are_compared_and_what_is_contested_is_listed(tmp_path: Path, db: str | None) -> None:
    project = make(tmp_path / "p", db=db, multi_label=True, overlap=1.0, validation_first=0)
    ann, bo = people(project, 2)

    def say(person: object, text: str, **label: object) -> None:
        with project.sessions.begin() as session:
            annotate(session, person, text, "label", key=f"{id(person)}-{text}", **label)  # type: ignore[arg-type]

    say(ann, "t1", class_names=["a", "b"])
    say(bo, "t1", class_names=["a"])
    say(ann, "t2", class_names=["c"])
    say(bo, "t2", decisions={"c": True, "a": None})
    say(ann, "t3", class_names=["a"])
    assert contested(project) == {"t1": ["b"]}
    with project.reads() as session:
        [item] = set_disagreements(session)
        shown = [(one["person"], one["classes"], one["decisions"]) for one in item["annotations"]]
        assert shown == [("annotator 0", ["a", "b"], None), ("annotator 1", ["a"], None)]
        assert len(set_ratings(session)) == 4
        assert ("t2", "annotator 1", Decisions.of({"c": True})) in set_ratings(session)
        assert len(set_ratings(session, min_people=1)) == 5
    project.decide({"consensus_per": "class"})
    assert contested(project) == {"t1": ["b"]}
    with project.sessions.begin() as session:
        annotate(session, me(project), "t1", "label", decisions={"b": True}, key="decided", decides=True)
    assert contested(project) == {}
    project.close()


def contested(project: Project) -> dict[str, list[str]]:
    with project.reads() as session:
        return {one["id"]: one["contested"] for one in set_disagreements(session)}
