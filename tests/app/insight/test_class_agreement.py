from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.app.insight.annotator_agreement import agreement
from hybridal.app.insight.class_agreement import ClassAgreement, SetRating, class_agreements
from hybridal.randomness import stream
from hybridal.tasks.answers import Decisions

LABELS = st.one_of(
    st.frozensets(st.sampled_from("abc")),
    st.dictionaries(st.sampled_from("abc"), st.booleans(), min_size=1).map(Decisions.of),
)
ANSWERS = st.lists(
    st.tuples(st.sampled_from("stuvwxyz"), st.sampled_from(["Ann", "Bo", "Cy"]), LABELS),
    unique_by=lambda answer: answer[:2],
    max_size=24,
)


def decisions_on(name: str, answers: list[SetRating]) -> dict[str, list[bool]]:
    """Who has a class by text, in the order of the texts; also of texts that fewer than two people decided."""
    by_text: dict[str, list[bool]] = {}
    for text, _, label in answers:
        decided = by_text.setdefault(text, [])
        if isinstance(label, frozenset):
            decided.append(name in label)
        elif name in label.present | label.absent:
            decided.append(name in label.present)
    return by_text


def by_pairs(units: Sequence[list[bool]]) -> Fraction | None:
    """The definition of α for yes and no, pair by pair."""
    units = [unit for unit in units if len(unit) > 1]
    everything = [has for unit in units for has in unit]
    n = len(everything)
    expected = sum(2 * (one != other) for one, other in combinations(everything, 2))
    if not expected:
        return None
    within = [
        Fraction(sum(2 * (one != other) for one, other in combinations(unit, 2)), len(unit) - 1) for unit in units
    ]
    return 1 - sum(within, Fraction(0)) / n / Fraction(expected, n * (n - 1))


@given(ANSWERS)
def test_alpha_equals_its_definition_by_pairs(answers: list[SetRating]) -> None:
    for found in class_agreements(answers, ["c", "a", "never given"]):
        units = [unit for unit in decisions_on(found.name, answers).values() if len(unit) > 1]
        known = by_pairs(units)
        assert found.alpha == (None if known is None else pytest.approx(float(known)))
        assert (found.texts, found.given) == (len(units), sum(map(sum, units)))


def test_interval_is_that_of_resampled_texts() -> None:
    ratings: list[tuple[str, str, frozenset[str]]] = [
        ("s", "Ann", frozenset("ab")),
        ("s", "Bo", frozenset("ab")),
        ("t", "Ann", frozenset("a")),
        ("t", "Bo", frozenset("b")),
        ("t", "Cy", frozenset("a")),
        ("u", "Ann", frozenset()),
        ("u", "Bo", frozenset()),
        ("v", "Ann", frozenset("a")),
        ("v", "Bo", frozenset()),
    ]
    answers: list[SetRating] = [
        *ratings,
        ("w", "Ann", Decisions.of({"b": True})),
        ("w", "Bo", Decisions.of({"b": True})),
    ]
    rng = stream(0, "agreement on classes")
    times = [rng.multinomial(5, np.full(5, 1 / 5), size=100) for _ in range(20)]  # as in `resampled`
    for found in class_agreements(answers, ["a", "b"]):
        units = [*decisions_on(found.name, answers).values()]
        drawn = [
            by_pairs([unit for unit, n in zip(units, row, strict=True) for _ in range(n)])
            for row in np.concatenate(times)
        ]
        low, high = np.quantile([float(alpha) for alpha in drawn if alpha is not None], [0.025, 0.975])
        assert [found.low, found.high] == pytest.approx([low, high])


def test_whole_sets_have_the_alpha_of_their_decisions() -> None:
    rng = np.random.default_rng(0)
    answers = [
        (f"t{text}", name, frozenset("a" if has else "b"))
        for text in range(30)
        for name, has in zip("xyz", rng.random(3) < 0.3, strict=True)
    ]
    [found] = class_agreements(answers, ["a"])
    alike = agreement((text, name, "yes" if "a" in label else "no") for text, name, label in answers)
    assert found.alpha == pytest.approx(alike.alpha)
    assert [found.low, found.high] == pytest.approx([alike.low, alike.high], abs=0.03)


def test_a_class_that_all_give_or_that_nobody_gives_has_neither_alpha_nor_interval() -> None:
    answers: list[SetRating] = [("1", "Ann", frozenset("a")), ("1", "Bo", frozenset("a"))]
    assert class_agreements(answers, ["a", "b"]) == (
        ClassAgreement("a", None, None, None, 1, 2),
        ClassAgreement("b", None, None, None, 1, 0),
    )
    assert class_agreements([], ["a"]) == (ClassAgreement("a", None, None, None, 0, 0),)


def test_one_text_has_no_interval() -> None:
    answers: list[SetRating] = [("1", "Ann", frozenset("a")), ("1", "Bo", frozenset())]
    assert class_agreements(answers, ["a"]) == (ClassAgreement("a", 0.0, None, None, 1, 1),)


def test_agreement_without_exception_has_no_interval() -> None:
    answers: list[SetRating] = [
        (text, name, frozenset(label)) for text, label in (("1", "a"), ("2", "")) for name in ("Ann", "Bo")
    ]
    assert class_agreements(answers, ["a"]) == (ClassAgreement("a", 1.0, None, None, 2, 2),)
