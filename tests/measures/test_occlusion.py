from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridal.core.outputs import Floats
from hybridal.measures.occlusion import occlusion, parts_of, prefix_with_same_tokens

WORDS = {"good": 1.5, "bad": -2.0, "not": -0.5}


def linear(texts: Sequence[str]) -> Floats:
    """A logistic regression on the counts of three words, with two classes."""
    logits = np.array([sum(WORDS.get(word, 0.0) for word in re.findall(r"\w+", text)) for text in texts])
    return np.stack([1 / (1 + np.exp(-logits)), 1 / (1 + np.exp(logits))], axis=1)


@given(st.lists(st.sampled_from([*WORDS, "the", "it's"]), min_size=1, max_size=30))
def test_the_weights_of_a_linear_model_are_its_coefficients(words: list[str]) -> None:
    text = " ".join(words)
    found = occlusion(text, linear)
    assert [text[start:end] for start, end in found.spans] == words
    wanted = np.array([WORDS.get(word, 0.0) for word in words])
    assert found.weights == pytest.approx(np.stack([wanted, -wanted], axis=1), abs=1e-6)
    assert found.probabilities == pytest.approx(linear([text])[0])


@given(st.text("ab 好い.-'", max_size=60), st.integers(1, 10))
def test_parts_do_not_overlap_and_contain_all_words(text: str, most: int) -> None:
    spans = parts_of(text, most)
    assert len(spans) <= most
    assert [at for span in spans for at in span] == sorted(at for span in spans for at in span)
    outside = "".join(
        text[end:start] for (_, end), (start, _) in zip([(0, 0), *spans], [*spans, (len(text), 0)], strict=True)
    )
    assert not re.search(r"\w", outside)


def test_a_long_text_is_predicted_a_limited_number_of_times() -> None:
    asked: list[str] = []

    def counting(texts: Sequence[str]) -> Floats:
        asked.extend(texts)
        return linear(texts)

    found = occlusion("not " * 300, counting, max_parts=10)
    assert (len(asked), len(found.spans)) == (11, 10)
    assert asked[1].split() == ["not"] * 270


def test_a_text_without_words_has_no_parts() -> None:
    found = occlusion("!!!", linear)
    assert (found.spans, found.weights.shape) == ((), (0, 2))


@given(st.text("ab ", max_size=40), st.integers(1, 5))
def test_the_prefix_is_the_shortest_with_the_same_tokens(text: str, limit: int) -> None:
    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [[len(word) * 2 + word.startswith("a") for word in one.split()[:limit]] for one in texts]

    prefix = prefix_with_same_tokens(text, encode)
    assert text.startswith(prefix)
    assert encode([prefix]) == encode([text])
    assert not prefix or encode([prefix[:-1]]) != encode([text])
