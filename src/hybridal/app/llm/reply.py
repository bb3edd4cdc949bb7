"""What a chat server sends back, and the one thing that is wanted of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_MOST_TOKENS = 10**9
"""A server that says more is mistaken."""


@dataclass(frozen=True)
class Reply:
    """The words, the tokens that were paid for (None if the server does not say), and each token's log probability."""

    content: str
    tokens: int | None = None
    logprobs: tuple[tuple[str, float], ...] = ()


def read_reply(body: Any) -> Reply | None:
    """The first choice of a chat completion; None if this is not one.

    >>> read_reply({"choices": [{"message": {"content": "hello"}}], "usage": {"total_tokens": 12}})
    Reply(content='hello', tokens=12, logprobs=())
    >>> read_reply({"choices": []}) is None
    True
    """
    try:
        choice = body["choices"][0]
        content = choice["message"]["content"]
    except (KeyError, IndexError, TypeError):
        return None
    if not isinstance(content, str):
        # A refusal has no content; it was paid for all the same.
        content = ""
    return Reply(content, _tokens(body), _logprobs(choice))


def _tokens(body: dict[str, Any]) -> int | None:
    usage = body.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    return total if isinstance(total, int) and not isinstance(total, bool) and 0 <= total <= _MOST_TOKENS else None


def _logprobs(choice: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    try:
        return tuple((str(entry["token"]), float(entry["logprob"])) for entry in choice["logprobs"]["content"])
    except (KeyError, TypeError, ValueError):
        return ()
