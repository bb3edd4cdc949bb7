"""One text, one answer: asked, asked once more if it was nonsense, and paid for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from hybridal.app.llm.address import RefusedError
from hybridal.app.llm.answers import Said, understand
from hybridal.app.llm.budget import Budget
from hybridal.app.llm.prompt import Instructions, Message, once_more
from hybridal.app.llm.reply import Reply


class Answers(Protocol):
    """Whoever replies to a conversation."""

    def ask(self, messages: list[Message], answer_format: dict[str, Any]) -> Reply: ...


@dataclass(frozen=True)
class Asked:
    """What came of it: `said` is None if no answer could be used, `refused` why the server did not take the text."""

    said: Said | None
    tokens: int
    refused: str = ""


def ask(client: Answers, instructions: Instructions, budget: Budget, text: str) -> Asked | None:
    """The LLM's answer to a text; None if the budget does not allow to ask."""
    messages, tokens = instructions.messages(text), 0
    for attempt in range(2):
        reserved = budget.reserve(messages)
        if reserved is None:
            return None if attempt == 0 else Asked(None, tokens)
        try:
            reply = client.ask(messages, instructions.answer_format())
        except RefusedError as error:
            budget.release(reserved)
            return Asked(None, tokens, str(error))
        except BaseException:
            budget.release(reserved)
            raise
        tokens += budget.pay(reserved, messages, reply.tokens)
        if said := understand(reply, instructions.names):
            return Asked(said, tokens)
        messages = once_more(messages)
    return Asked(None, tokens)
