"""A budget of tokens that threads share."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

from hybridal.annotators.llm.prompt import ANSWER_TOKENS, TOKENS_PER_BYTE, Message


class Budget:
    """A budget of `limit` tokens, of which `spent` are used. Threads reserve the expected cost before each request.

    >>> budget, messages = Budget(700, spent=100), [{"role": "user", "content": "x" * 100}]
    >>> budget.reserve(messages), budget.reserve(messages) is None
    (350, True)
    >>> budget.pay(350, messages, tokens=40), budget.spent, budget.reserve(messages)
    (40, 140, 340)
    """

    def __init__(self, limit: int, spent: int = 0) -> None:
        self.limit = limit
        self.spent = spent
        self._reserved = 0
        self._rate: float | None = None  # tokens per byte of a request
        self._lock = threading.Lock()

    def reserve(self, messages: Sequence[Message], answer_tokens: int = ANSWER_TOKENS) -> int | None:
        """Reserve the cost of a request with the longest answer; return None if it could exceed the limit."""
        # Later the highest rate that the server has reported is used.
        rate = TOKENS_PER_BYTE if self._rate is None else self._rate
        tokens = math.ceil(_size(messages) * rate) + answer_tokens
        with self._lock:
            if self.spent + self._reserved + tokens > self.limit:
                return None
            self._reserved += tokens
        return tokens

    def pay(self, reserved: int, messages: Sequence[Message], tokens: int | None) -> int:
        """Record the cost of a request; if the server reports no `tokens`, the reserved amount."""
        cost = reserved if tokens is None else tokens
        with self._lock:
            self._reserved -= reserved
            self.spent += cost
            if tokens is not None:
                self._rate = max(self._rate or 0, tokens / _size(messages))
        return cost

    def release(self, reserved: int) -> None:
        """Release a reservation of which nothing was spent."""
        with self._lock:
            self._reserved -= reserved


def _size(messages: Sequence[Message]) -> int:
    return sum(len(message["content"].encode()) for message in messages)
