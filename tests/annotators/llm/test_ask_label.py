from __future__ import annotations

import json
from typing import Any

import pytest

from hybridal.annotators.llm.ask_label import LlmResult, ask_label
from hybridal.annotators.llm.chat_client import RefusedError, UnavailableError
from hybridal.annotators.llm.llm_budget import Budget
from hybridal.annotators.llm.prompt import Instructions, LlmLabel, Message, Reply

ASKED = [{"role": "user", "content": "x" * 1000}]


RULES = Instructions((("bug", ""), ("idea", "")))
GOOD = '{"reason": "so", "class": "bug", "confidence": 0.9}'


class Scripted:
    """Returns these responses in turn."""

    def __init__(self, *script: str | Exception, tokens: int | None = 50) -> None:
        self.script = list(script)
        self.tokens = tokens
        self.heard: list[list[Message]] = []
        self.longest = 0

    def ask(self, messages: list[Message], answer_format: dict[str, Any], answer_tokens: int) -> Reply:
        self.heard.append(messages)
        self.longest = answer_tokens
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        return Reply(step, self.tokens)


def test_valid_answer_needs_one_request() -> None:
    client, budget = Scripted(GOOD), Budget(100_000)
    assert ask_label(client, RULES, budget, "It crashes.") == LlmResult(LlmLabel("bug", 0.9, "so"), 50)
    assert budget.spent == 50


def test_a_list_of_all_classes_fits_into_the_longest_answer() -> None:
    """A tokenizer makes at most a token of two bytes of these names."""
    names = [f"a rather long class name, number {n}" for n in range(300)]
    many = Instructions(tuple((name, "") for name in names), several=True)
    client, messages = Scripted('{"classes": [], "confidence": 1}'), many.messages("…")
    dear = Budget(10**6).reserve(messages)
    assert dear is not None
    assert ask_label(client, many, Budget(dear), "…") is None, "the longest answer would not fit"
    assert ask_label(client, many, Budget(10**6), "…") is not None
    assert client.longest > len(json.dumps(names)) / 2


def test_invalid_answer_is_requested_once_more() -> None:
    client, budget = Scripted("hmm", GOOD), Budget(100_000)
    assert ask_label(client, RULES, budget, "It crashes.") == LlmResult(LlmLabel("bug", 0.9, "so"), 100)
    assert client.heard[1][:2] == client.heard[0]
    assert len(client.heard[1]) == 3


@pytest.mark.parametrize("nonsense", ["hmm", "", '{"class": "spam", "confidence": 1}', GOOD[:-5]])
def test_nonsense_twice_is_no_answer_and_paid_for(nonsense: str) -> None:
    client, budget = Scripted(nonsense, nonsense), Budget(100_000)
    assert ask_label(client, RULES, budget, "It crashes.") == LlmResult(None, 100, raw_reply=nonsense)
    assert budget.spent == 100


def test_a_text_that_the_server_does_not_take_costs_nothing() -> None:
    budget = Budget(100_000)
    assert ask_label(Scripted(RefusedError("too long")), RULES, budget, "…") == LlmResult(None, 0, "too long")
    assert budget.spent == 0


def test_a_server_that_is_not_there_leaves_the_budget_as_it_was() -> None:
    budget = Budget(1000)
    before = budget.reserve(RULES.messages("…"))
    assert before is not None
    budget.release(before)
    with pytest.raises(UnavailableError):
        ask_label(Scripted(UnavailableError("away")), RULES, budget, "…")
    assert budget.reserve(RULES.messages("…")) == before


def test_empty_budget_sends_no_request() -> None:
    client = Scripted(GOOD)
    assert ask_label(client, RULES, Budget(10), "It crashes.") is None
    assert client.heard == []


def test_retry_needs_budget() -> None:
    client = Scripted("hmm", GOOD, tokens=None)
    enough = Budget(10**6).reserve(RULES.messages("It crashes."))
    assert enough is not None
    assert ask_label(client, RULES, Budget(enough + 100), "It crashes.") == LlmResult(None, enough, raw_reply="hmm")
    assert len(client.heard) == 1
