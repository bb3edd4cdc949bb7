from __future__ import annotations

import random
from collections.abc import Sequence
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.measures import look_alikes as module
from hybridal.measures.look_alikes import (
    SIMILARITY,
    comparable,
    look_alikes,
    normalised,
    shingles,
    signatures,
    similarity,
)

WORDS = [
    "your",
    "order",
    "has",
    "been",
    "shipped",
    "and",
    "will",
    "arrive",
    "on",
    "monday",
    "please",
    "call",
    "if",
    "it",
    "is",
    "late",
]


def pieces(text: str) -> set[str]:
    """The shingles as strings: an implementation that shares nothing with ours but the compared text."""
    padded = f" {comparable(text)} ".ljust(5)
    return {padded[at : at + 5] for at in range(len(padded) - 4)}


def jaccard(one: str, other: str) -> float:
    return len(pieces(one) & pieces(other)) / len(pieces(one) | pieces(other))


def brute_force(texts: Sequence[str]) -> list[int]:
    """Compare each text with the first texts of all groups so far; equal texts are in the same group."""
    firsts: list[int] = []
    found: list[int] = []
    known: dict[str, int] = {}
    for at, text in enumerate(texts):
        if (equal := known.setdefault(comparable(text), at)) != at:
            found.append(found[equal])
            continue
        similar = [(jaccard(text, texts[first]), -first) for first in firsts]
        best = max((one for one in similar if one[0] >= SIMILARITY), default=None)
        found.append(at if best is None else -best[1])
        if best is None:
            firsts.append(at)
    return found


def templates(seed: int, texts: int = 80) -> list[str]:
    """Texts of some templates, in which words are changed, left out or added, so that all similarities occur."""
    rng = random.Random(seed)
    bases = [rng.choices(WORDS, k=rng.randint(3, 40)) for _ in range(8)]
    found = []
    for _ in range(texts):
        words = [*rng.choice(bases)]
        for _ in range(rng.randint(0, 3)):
            at = rng.randrange(len(words))
            words[at : at + rng.randint(0, 1)] = rng.choices(WORDS, k=rng.randint(0, 2))
            words = words or ["late"]
        found.append(" ".join(words))
    return found


texts = st.one_of(st.text(max_size=30), st.sampled_from(templates(0)))


@pytest.mark.parametrize("seed", range(8))
def test_groups_are_those_of_brute_force(seed: int) -> None:
    given = templates(seed)
    expected = brute_force(given)
    assert look_alikes(given).tolist() == expected
    assert 1 < len({*expected}) < len(given)


@given(texts, texts)
def test_similarity_is_that_of_the_sets(one: str, other: str) -> None:
    assert similarity(shingles(one), shingles(other)) == pytest.approx(jaccard(one, other))


@given(st.lists(texts, max_size=12))
def test_each_text_is_similar_to_the_first_of_its_group(given: list[str]) -> None:
    found = look_alikes(given).tolist()
    assert all(first <= at and found[first] == first for at, first in enumerate(found))
    assert all(jaccard(given[at], given[first]) >= SIMILARITY for at, first in enumerate(found))


@given(st.lists(texts, max_size=8), st.lists(texts, max_size=8))
def test_more_texts_leave_the_groups_of_the_others_as_they_are(before: list[str], more: list[str]) -> None:
    assert look_alikes([*before, *more]).tolist()[: len(before)] == look_alikes(before).tolist()


@given(texts)
def test_case_blanks_and_punctuation_do_not_matter(text: str) -> None:
    varied = f"  {normalised(text).replace(' ', ' - ')}!"
    assert look_alikes([text, varied]).tolist() == ([0, 0] if normalised(text) == normalised(varied) else [0, 1])
    assert normalised(normalised(text)) == normalised(text)


def test_texts_of_signs_alone_differ() -> None:
    assert look_alikes(["👍", "👎", "!!!", "???", "", " "]).tolist() == [0, 1, 2, 3, 4, 4]


def test_numbers_are_content() -> None:
    assert look_alikes(["1 star", "5 stars", "1 star."]).tolist() == [0, 1, 0]


def test_minima_estimate_the_similarity() -> None:
    given = templates(3, 60)
    minima = signatures(given)
    pairs = [(one, other) for one in range(60) for other in range(one)]
    errors = [(minima[one] == minima[other]).mean() - jaccard(given[one], given[other]) for one, other in pairs]
    assert abs(np.mean(errors)) < 0.06  # the texts share words, so their errors are correlated
    assert np.std(errors) < 0.08  # 64 draws with a probability of 0.5 have a standard error of 0.0625


def test_a_text_of_another_script_and_half_a_character() -> None:
    same = "這個包裹今天到了我非常滿意下次還會再買"
    assert look_alikes([same, f"{same}。", "你好", "\ud800 broken", "\ud800 Broken"]).tolist() == [0, 0, 2, 3, 3]


def test_progress_ends_with_the_last_text() -> None:
    seen: list[int] = []
    look_alikes(["one", "two", "three"], on_progress=seen.append)
    assert seen == [3]


def test_texts_that_are_almost_look_alikes_are_not_all_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(1)
    given = [
        f"parcel {rng.random()} to {''.join(rng.choices('abcdef', k=9))} arrives on monday or later" for _ in range(400)
    ]
    assert 0.3 < np.mean([jaccard(given[0], one) for one in given[1:]]) < SIMILARITY - 0.1
    counted = Mock(side_effect=similarity)
    monkeypatch.setattr(module, "similarity", counted)
    assert look_alikes([*given, *reversed(given)]).tolist() == [*range(400), *reversed(range(400))]
    late = [f"{text} today" for text in given[-50:]]
    assert look_alikes([*given, *late]).tolist()[400:] == [*range(350, 400)], "late ones of many are found, too"
    assert counted.call_count < 20 * 850


def ticket(number: int) -> str:
    return (
        f"Hello, my order number {31_377 + 7919 * number} of {number % 28 + 1:02}.{number % 12 + 1:02}.2026 has not "
        "arrived yet. Please tell me when I can expect the delivery. Kind regards"
    )


def test_texts_of_a_template_that_differ_only_in_numbers_are_one_group() -> None:
    tickets = [ticket(number) for number in range(120)]
    assert look_alikes(tickets).tolist() == [0] * 120
    varied = tickets[3].replace(".2026", "/26").replace("order number", "order number:")
    assert look_alikes([tickets[0], varied]).tolist() == [0, 0], "dates and punctuation may be written in another way"


@pytest.mark.parametrize(
    "given",
    [
        ("1 star", "5 stars", "3 stars"),
        ("Room 12", "Room 13"),
        ("3 of 5", "4 of 5"),
        ("I give this product 1 of 5 points.", "I give this product 5 of 5 points."),
        ("我给这个产品打1分", "我给这个产品打5分"),
    ],
)
def test_a_number_is_the_meaning_of_a_short_text(given: tuple[str, ...]) -> None:
    assert look_alikes(given).tolist() == [*range(len(given))]


def test_a_table_of_numbers_is_no_template() -> None:
    def table(seed: int) -> str:
        rng = random.Random(seed)
        values = ", ".join(f"{rng.random():.6f}" for _ in range(12))
        return f"The twelve values that were measured at the station in the north: {values}"

    assert look_alikes([table(1), table(2)]).tolist() == [0, 1]


def test_texts_with_numbers_that_differ_in_words_stay_apart() -> None:
    other = (
        "Hello, please cancel my order number 31377 of 23.06.2026 and send the money back to my account as soon as "
        "possible. Kind regards"
    )
    assert look_alikes([ticket(1), other]).tolist() == [0, 1]


numbers = st.lists(st.integers(0, 10**9), min_size=2, max_size=2)


@given(texts, texts)
def test_similarity_is_symmetric_and_a_text_is_like_itself(one: str, other: str) -> None:
    first, second = shingles(f"{one} 17"), shingles(f"{other} 4")
    assert similarity(first, second) == similarity(second, first)
    assert similarity(first, first) == 1.0


@given(numbers, numbers)
def test_numbers_of_a_template_do_not_matter(one: list[int], other: list[int]) -> None:
    given = [
        f"Hello, my order number {a} of {b} has not arrived yet. Please tell me when it comes." for a, b in (one, other)
    ]
    assert look_alikes(given).tolist() == [0, 0]
