"""One text, one label: asked for, asked once more if the reply was unusable, and paid from a budget of tokens."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hybridal.app.llm.client import RefusedError
from hybridal.app.llm.prompt import ANSWER_TOKENS, Instructions, LlmLabel, Message, Reply, ask_again, parse_label

# A careful first prediction; once the server has counted some questions, the dearest of them is the measure.
_TOKENS_PER_BYTE = 0.5


class Budget:
    """`limit` tokens in all, of which `spent` are gone. What several threads are about to spend is set aside first.

    >>> budget, asked = Budget(700, spent=100), [{"role": "user", "content": "x" * 100}]
    >>> budget.reserve(asked), budget.reserve(asked) is None
    (350, True)
    >>> budget.pay(350, asked, tokens=40), budget.spent, budget.reserve(asked)
    (40, 140, 340)
    """

    def __init__(self, limit: int, spent: int = 0) -> None:
        self.limit = limit
        self.spent = spent
        self._aside = 0
        self._rate: float | None = None
        self._turn = threading.Lock()

    def reserve(self, messages: Sequence[Message]) -> int | None:
        """Sets aside what asking this may cost, the answer at its longest; None if that could go beyond the limit."""
        rate = _TOKENS_PER_BYTE if self._rate is None else self._rate
        tokens = math.ceil(_size(messages) * rate) + ANSWER_TOKENS
        with self._turn:
            if self.spent + self._aside + tokens > self.limit:
                return None
            self._aside += tokens
        return tokens

    def pay(self, reserved: int, messages: Sequence[Message], tokens: int | None) -> int:
        """Books what a question cost: what was set aside, where the server does not say."""
        cost = reserved if tokens is None else tokens
        with self._turn:
            self._aside -= reserved
            self.spent += cost
            if tokens is not None:
                self._rate = max(self._rate or 0, tokens / _size(messages))
        return cost

    def release(self, reserved: int) -> None:
        """Nothing was spent."""
        with self._turn:
            self._aside -= reserved


def _size(messages: Sequence[Message]) -> int:
    return sum(len(message["content"].encode()) for message in messages)


class ChatModel(Protocol):
    """Whoever replies to a conversation."""

    def ask(self, messages: list[Message], answer_format: dict[str, Any]) -> Reply: ...


@dataclass(frozen=True)
class LlmResult:
    """What came of it: `said` is None if no answer could be used, `refused` why the server did not take the text."""

    said: LlmLabel | None
    tokens: int
    refused: str = ""


def ask(client: ChatModel, instructions: Instructions, budget: Budget, text: str) -> LlmResult | None:
    """The LLM's answer to a text; None if the budget does not allow to ask."""
    messages, tokens = instructions.messages(text), 0
    for attempt in range(2):
        reserved = budget.reserve(messages)
        if reserved is None:
            return None if attempt == 0 else LlmResult(None, tokens)
        try:
            reply = client.ask(messages, instructions.answer_format())
        except RefusedError as error:
            budget.release(reserved)
            return LlmResult(None, tokens, str(error))
        except BaseException:
            budget.release(reserved)
            raise
        tokens += budget.pay(reserved, messages, reply.tokens)
        if said := parse_label(reply, instructions.names):
            return LlmResult(said, tokens)
        messages = ask_again(messages)
    return LlmResult(None, tokens)
