"""Ask a language model for the labels of texts, one question per text, within a budget."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from hybridal.annotators.llm.chat_client import RefusedError
from hybridal.annotators.llm.llm_budget import Budget
from hybridal.annotators.llm.prompt import (
    Example,
    Instructions,
    LlmLabel,
    Message,
    Reply,
    parse_label,
    with_retry_request,
)

Item = TypeVar("Item")
Result = TypeVar("Result")


class ChatModel(Protocol):
    """A model that replies to a conversation."""

    def ask(self, messages: list[Message], answer_format: dict[str, Any], answer_tokens: int) -> Reply: ...


@dataclass(frozen=True)
class LlmResult:
    """The outcome of asking about one text.

    Attributes:
        label: The label, or None if no answer could be used.
        tokens: The tokens spent.
        refused: Why the server refused the text, or an empty text.
        raw_reply: The last answer if it could not be used.
    """

    label: LlmLabel | None
    tokens: int
    refused: str = ""
    raw_reply: str = ""


def ask_label(
    client: ChatModel, instructions: Instructions, budget: Budget, text: str, nearest: Sequence[Example] = ()
) -> LlmResult | None:
    """Ask for the label of a text, a second time if the answer cannot be used.

    Args:
        client: Sends the conversation.
        instructions: Classes, examples and guidelines.
        budget: Pays for each request.
        text: The text.
        nearest: Labelled texts that resemble it, the most similar last.

    Returns:
        The outcome; None if the budget is too small to ask.
    """
    messages, tokens, raw_reply = instructions.messages(text, nearest), 0, ""
    for attempt in range(2):
        reserved = budget.reserve(messages, instructions.answer_tokens)
        if reserved is None:
            return None if attempt == 0 else LlmResult(None, tokens, raw_reply=raw_reply)
        try:
            reply = client.ask(messages, instructions.answer_format(), instructions.answer_tokens)
        except RefusedError as error:
            budget.release(reserved)
            return LlmResult(None, tokens, str(error))
        except BaseException:
            budget.release(reserved)
            raise
        tokens += budget.pay(reserved, messages, reply.tokens)
        if label := parse_label(reply, instructions.names, instructions.several):
            return LlmResult(label, tokens)
        messages, raw_reply = with_retry_request(messages, instructions.several), reply.content
    return LlmResult(None, tokens, raw_reply=raw_reply)


def in_parallel(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[tuple[Item, Result | Exception]]:
    """Apply a function to all items, each in a thread; yield each item with its result or error, in their order.

    >>> [(item, str(result)) for item, result in in_parallel(lambda n: 1 / n, [1, 0])]
    [(1, '1.0'), (0, 'division by zero')]
    """
    results: dict[int, Result | Exception] = {}

    def call(at: int) -> None:
        try:
            results[at] = function(items[at])
        except Exception as error:
            results[at] = error

    threads = [threading.Thread(target=call, args=(at,), daemon=True) for at in range(len(items))]
    for thread in threads:
        thread.start()
    for at, thread in enumerate(threads):
        thread.join()
        yield items[at], results[at]


def unusable_reason(raw_reply: str, answer: str = "The answer") -> str:
    """Why a reply is not a label.

    >>> unusable_reason("I cannot\\nhelp.")
    'The answer was not a label: “I cannot help.”'
    >>> unusable_reason("", "The last one")
    'The last one was empty.'
    """
    if not raw_reply:
        return f"{answer} was empty."
    return f"{answer} was not a label: “{' '.join(raw_reply.split()):.120}”"
