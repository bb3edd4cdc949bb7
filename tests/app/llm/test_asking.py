from typing import Any

import pytest

from hybridal.app.llm.address import RefusedError, UnavailableError
from hybridal.app.llm.answers import Said
from hybridal.app.llm.asking import Asked, ask
from hybridal.app.llm.budget import Budget
from hybridal.app.llm.prompt import Instructions, Message
from hybridal.app.llm.reply import Reply

RULES = Instructions((("bug", ""), ("idea", "")))
GOOD = '{"reason": "so", "class": "bug", "confidence": 0.9}'


class Scripted:
    """Says these things in turn."""

    def __init__(self, *script: str | Exception, tokens: int | None = 50) -> None:
        self.script = list(script)
        self.tokens = tokens
        self.heard: list[list[Message]] = []

    def ask(self, messages: list[Message], answer_format: dict[str, Any]) -> Reply:
        self.heard.append(messages)
        said = self.script.pop(0)
        if isinstance(said, Exception):
            raise said
        return Reply(said, self.tokens)


def test_a_good_answer_is_asked_for_once() -> None:
    client, budget = Scripted(GOOD), Budget(100_000)
    assert ask(client, RULES, budget, "It crashes.") == Asked(Said("bug", 0.9, "so"), 50)
    assert budget.spent == 50


def test_nonsense_is_asked_again_once() -> None:
    client, budget = Scripted("hmm", GOOD), Budget(100_000)
    assert ask(client, RULES, budget, "It crashes.") == Asked(Said("bug", 0.9, "so"), 100)
    assert client.heard[1][:2] == client.heard[0]
    assert len(client.heard[1]) == 3


@pytest.mark.parametrize("nonsense", ["hmm", "", '{"class": "spam", "confidence": 1}', GOOD[:-5]])
def test_nonsense_twice_is_no_answer_and_paid_for(nonsense: str) -> None:
    client, budget = Scripted(nonsense, nonsense), Budget(100_000)
    assert ask(client, RULES, budget, "It crashes.") == Asked(None, 100)
    assert budget.spent == 100


def test_a_text_that_the_server_does_not_take_costs_nothing() -> None:
    budget = Budget(100_000)
    assert ask(Scripted(RefusedError("too long")), RULES, budget, "…") == Asked(None, 0, "too long")
    assert budget.spent == 0


def test_a_server_that_is_not_there_leaves_the_budget_as_it_was() -> None:
    budget = Budget(1000)
    before = budget.reserve(RULES.messages("…"))
    assert before is not None
    budget.release(before)
    with pytest.raises(UnavailableError):
        ask(Scripted(UnavailableError("away")), RULES, budget, "…")
    assert budget.reserve(RULES.messages("…")) == before


def test_without_tokens_nothing_is_asked() -> None:
    client = Scripted(GOOD)
    assert ask(client, RULES, Budget(10), "It crashes.") is None
    assert client.heard == []


def test_without_tokens_for_a_second_try_there_is_none() -> None:
    client = Scripted("hmm", GOOD, tokens=None)
    enough = Budget(10**6).reserve(RULES.messages("It crashes."))
    assert enough is not None
    assert ask(client, RULES, Budget(enough + 100), "It crashes.") == Asked(None, enough)
    assert len(client.heard) == 1
