from typing import Any

import pytest

from hybridal.app.llm.reply import Reply, read_reply


@pytest.mark.parametrize("body", [None, [], "words", 3, {}, {"choices": None}, {"choices": [None]}, {"choices": [{}]}])
def test_what_is_no_completion_is_none(body: Any) -> None:
    assert read_reply(body) is None


def test_a_refusal_has_no_words_but_a_price() -> None:
    refusal = {"choices": [{"message": {"content": None, "refusal": "no"}}], "usage": {"total_tokens": 9}}
    assert read_reply(refusal) == Reply("", 9)


@pytest.mark.parametrize("usage", [None, [], {}, *({"total_tokens": total} for total in ("9", -1, True, 10**30))])
def test_a_price_that_is_none_is_not_believed(usage: Any) -> None:
    assert read_reply({"choices": [{"message": {"content": "x"}}], "usage": usage}) == Reply("x", None)


def test_log_probabilities_come_with_their_tokens() -> None:
    content = [{"token": "a", "logprob": -0.1, "top_logprobs": []}, {"token": "b", "logprob": 0}]
    choice = {"message": {"content": "ab"}, "logprobs": {"content": content}}
    assert read_reply({"choices": [choice]}) == Reply("ab", None, (("a", -0.1), ("b", 0.0)))
    choice["logprobs"] = {"content": [{"token": "a"}]}
    assert read_reply({"choices": [choice]}) == Reply("ab")
