from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from hybridal.app.insight import annotator_agreement as module
from hybridal.app.insight.annotator_agreement import (
    Confused,
    Rating,
    agreement,
    bootstrap_interval,
    disagreements,
    pairs_of_people,
    ratings,
)
from hybridal.app.labelling.annotations import annotate
from hybridal.app.people import machine_annotator
from hybridal.app.project import Project
from hybridal.randomness import stream

from ..made_up import make, me, people

VALUES = np.random.default_rng(3).lognormal(size=40)


def mean(times: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(times @ VALUES / len(VALUES))


def test_a_mean_gets_the_interval_that_scipy_gives_it() -> None:
    known = stats.bootstrap((VALUES,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(0))
    width = known.confidence_interval.high - known.confidence_interval.low
    assert bootstrap_interval(mean, len(VALUES), "test") == pytest.approx(known.confidence_interval, abs=0.08 * width)


def test_the_same_texts_always_give_the_same_interval() -> None:
    first = bootstrap_interval(mean, len(VALUES), "test")
    assert bootstrap_interval(mean, len(VALUES), "test") == first
    assert bootstrap_interval(mean, len(VALUES), "another") != first


def test_resamples_without_a_value_are_left_out_until_they_are_most_of_them() -> None:
    def without(share: float) -> tuple[float | None, float | None]:
        def values(times: NDArray[np.int64]) -> NDArray[np.float64]:
            found = mean(times)
            found[: round(share * len(found))] = np.nan
            return found

        return bootstrap_interval(values, len(VALUES), "test")

    some, most = without(0.3), without(0.7)
    assert most == (None, None)
    assert some == pytest.approx(bootstrap_interval(mean, len(VALUES), "test"), rel=0.05)


def test_interval_of_a_single_text_is_none() -> None:
    assert bootstrap_interval(lambda times: np.ones(len(times)), 1, "test") == (None, None)


def ratings_of(*rows: str) -> list[Rating]:
    """A person's classes in a row, a character for each text; a dot where they did not label it."""
    return [
        (f"text {at}", f"person {row}", name)
        for row, classes in enumerate(rows)
        for at, name in enumerate(classes)
        if name != "."
    ]


def by_pairs(answers: list[Rating]) -> float | None:
    """The definition, pair by pair: 1 − observed / expected disagreement of ordered pairs of answers."""
    texts: dict[str, list[str]] = {}
    for text, _, name in answers:
        texts.setdefault(text, []).append(name)
    units = [names for names in texts.values() if len(names) > 1]
    everything = [name for names in units for name in names]
    n = len(everything)
    if not n:
        return None
    observed = sum(sum(a != b for a, b in permutations(names, 2)) / (len(names) - 1) for names in units) / n
    expected = sum(a != b for a, b in permutations(everything, 2)) / (n * (n - 1))
    return 1 - observed / expected if expected else None


ANSWERS = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["Ann", "Bo", "Cy"]), st.sampled_from(["x", "y", "z"])),
    unique_by=lambda answer: answer[:2],
    max_size=24,
)


@pytest.mark.parametrize(
    ("rows", "alpha"),
    [
        # Two people, ten texts: 14 zeros and 6 ones, 4 texts differ: 1 − (8 / 20) / (2 · 14 · 6 / (20 · 19)).
        (("0100000010", "1110010000"), 1 - (8 / 20) / (168 / 380)),
        # The worked examples of Krippendorff's papers with missing answers.
        (("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 0.743),
        ((".....34121133.3", "1.21334 3.......".replace(" ", ""), "..21344.21133.4"), 0.691),
    ],
)
def test_worked_examples_give_the_published_values(rows: tuple[str, ...], alpha: float) -> None:
    assert agreement(ratings_of(*rows)).alpha == pytest.approx(alpha, abs=5e-4)


@given(ANSWERS)
def test_alpha_equals_its_definition_by_pairs(answers: list[Rating]) -> None:
    assert agreement(answers).alpha == pytest.approx(by_pairs(answers))


@given(ANSWERS, st.permutations(["x", "y", "z"]), st.permutations(["Ann", "Bo", "Cy"]))
def test_names_of_people_and_classes_do_not_matter(
    answers: list[Rating], classes: list[str], people: list[str]
) -> None:
    named = dict(zip([*"xyz", "Ann", "Bo", "Cy"], [*classes, *people], strict=True))
    other = [(text, named[person], named[name]) for text, person, name in reversed(answers)]
    assert agreement(other).alpha == pytest.approx(agreement(answers).alpha)


@given(st.lists(st.sampled_from(["x", "y"]), min_size=2).filter(lambda classes: len(set(classes)) == 2))
def test_perfect_agreement_is_1_and_so_is_its_interval(classes: list[str]) -> None:
    found = agreement([(str(at), person, name) for at, name in enumerate(classes) for person in ("Ann", "Bo", "Cy")])
    assert found.alpha == pytest.approx(1)
    assert (found.low is None and found.high is None) or (found.low, found.high) == pytest.approx((1, 1))


def test_chance_is_about_0() -> None:
    rng = np.random.default_rng(5)
    found = agreement([(str(at), person, str(rng.integers(3))) for at in range(2000) for person in ("Ann", "Bo")])
    assert found.alpha == pytest.approx(0, abs=0.05)


def test_the_interval_is_that_of_texts_drawn_again() -> None:
    answers = ratings_of("xxyyzxyz", "xyyyzxxz", "xxyyz...")
    found = agreement(answers)
    drawn, values = stream(0, "agreement"), []
    for _ in range(20):
        for times in drawn.multinomial(8, np.full(8, 1 / 8), size=100):
            copies = [
                (f"{text}#{copy}", person, name)
                for text, person, name in answers
                for copy in range(times[int(text.split()[1])])
            ]
            values.append(by_pairs(copies))
    known = np.quantile([value for value in values if value is not None], [0.025, 0.975])
    assert [found.low, found.high] == pytest.approx(known.tolist())


def test_undefined_agreement_is_none() -> None:
    alone = agreement([("a", "Ann", "x"), ("b", "Bo", "y")])
    assert (alone.alpha, alone.texts, alone.pairs) == (None, 0, 0)
    assert alone.note == "no text has been labelled by two people"
    assert agreement([]).alpha is None
    uniform = agreement(ratings_of("xxxx", "xxxx"))
    assert (uniform.alpha, uniform.texts, uniform.pairs) == (None, 4, 4)
    assert "one class" in uniform.note
    single = agreement(ratings_of("x", "y"))
    assert single.alpha is not None
    assert (single.low, single.note) == (None, "too few texts for an interval")


def test_a_person_who_answers_again_counts_once() -> None:
    assert agreement([("a", "Ann", "y"), *ratings_of("xy", "xy"), ("a", "Ann", "x")]).texts == 2


def test_pairs_of_people_are_listed_with_what_they_confuse() -> None:
    found = pairs_of_people(ratings_of("xxyy", "xyyx", "xx.y"))
    assert [(pair.one, pair.other, pair.texts) for pair in found] == [
        ("person 1", "person 2", 3),
        ("person 0", "person 1", 4),
        ("person 0", "person 2", 3),
    ]
    assert [pair.agreed for pair in found] == pytest.approx([1 / 3, 2 / 4, 3 / 3])
    assert found[1].confused == (Confused("x", "y", 1), Confused("y", "x", 1))
    assert found[2].confused == ()


def test_agreement_is_cached_until_annotations_change(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []

    def count(values: object, texts: int, purpose: str) -> tuple[float, float]:
        drawn.append(texts)
        return bootstrap_interval(values, texts, purpose)  # type: ignore[arg-type, return-value]

    monkeypatch.setattr(module, "bootstrap_interval", count)
    first = agreement(ratings_of("abcabbca", "abcabbaa"))
    assert agreement(iter(ratings_of("abcabbca", "abcabbaa"))) == first
    assert drawn == [8]
    assert agreement(ratings_of("abcabbca", "abcabbab")) != first
    assert drawn == [8, 8]


@pytest.fixture
def project(tmp_path: Path, db: str | None) -> Project:
    made = make(tmp_path / "p", 6, db=db)
    ann, bo = people(made, 2)
    with made.sessions.begin() as session:
        for at, (one, other) in enumerate([("a", "a"), ("a", "b"), ("c", "b")]):
            annotate(session, ann, f"t{at}", "label", class_name=one, key=f"ann{at}", comment="why")
            annotate(session, bo, f"t{at}", "label", class_name=other, key=f"bo{at}")
        annotate(session, me(made), "t2", "label", class_name="c", key="me2", decides=True)
        annotate(session, ann, "t3", "label", class_name="a", key="ann3")
        annotate(session, bo, "t3", "skip", key="bo3")
        annotate(session, machine_annotator(session, "(small)", "llm"), "t3", "label", class_name="b", key="llm3")
    return made


def test_only_independent_annotations_of_several_people_count(project: Project) -> None:
    with project.reads() as session:
        found = ratings(session)
    assert found == [
        *[("t0", f"annotator {at}", "a") for at in range(2)],
        *[("t1", "annotator 0", "a"), ("t1", "annotator 1", "b")],
        *[("t2", "annotator 0", "c"), ("t2", "annotator 1", "b")],
    ]


def test_disagreements_are_undecided_ones(project: Project) -> None:
    with project.reads() as session:
        [found] = disagreements(session)
    assert found["id"] == "t1"
    assert found["annotations"] == [
        {"person": "annotator 0", "class": "a", "comment": "why"},
        {"person": "annotator 1", "class": "b", "comment": ""},
    ]
