from __future__ import annotations

import copy
import pickle

from hybridal.sentences import Sentence


def test_a_sentence_is_its_english_text() -> None:
    sentence = Sentence("It replaced {before} in round {round}.", before="minilm", round=3)
    assert sentence == "It replaced minilm in round 3."
    assert (sentence.one, sentence.values) == (
        "It replaced {before} in round {round}.",
        {"before": "minilm", "round": 3},
    )


def test_a_sentence_with_a_number_has_two_templates() -> None:
    made = [Sentence.plural("{n} {what}", "{n} {what}s", n, what="label") for n in (1, 0, 1200)]
    assert made == ["1 label", "0 labels", "1,200 labels"]
    assert {(sentence.one, sentence.many) for sentence in made} == {("{n} {what}", "{n} {what}s")}


def test_copies_are_plain_strings() -> None:
    sentence = Sentence("{what} in braces.", what="{n}")
    assert sentence == "{n} in braces."
    for other in (copy.deepcopy(sentence), pickle.loads(pickle.dumps(sentence))):
        assert other == sentence
