"""What the LLM's words mean: a class of ours and how sure it is, or nothing."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from hybridal.app.llm.reply import Reply

_LONGEST = 20_000


@dataclass(frozen=True)
class Said:
    """A usable answer."""

    class_name: str
    confidence: float
    reason: str = ""


def understand(reply: Reply, classes: Collection[str]) -> Said | None:
    """The answer if it is one: a single JSON object with one of our classes and a confidence from 0 to 1.

    The probability that the server reports for the class's tokens counts more than what the model says of itself.

    >>> understand(Reply('Sure! {"class": "bug", "confidence": 0.8, "reason": "It crashes."}'), ["bug", "idea"])
    Said(class_name='bug', confidence=0.8, reason='It crashes.')
    >>> understand(Reply('{"class": "bugs", "confidence": 0.8}'), ["bug", "idea"]) is None
    True
    """
    found = _answers(reply.content[:_LONGEST])
    if len(found) != 1:
        # Two different answers in one: which of them is the model's own, and which does it quote?
        return None
    name, stated, reason = found[0].get("class"), found[0].get("confidence"), found[0].get("reason")
    if not isinstance(name, str) or name.strip() not in classes:
        return None
    confidence = _measured(reply)
    if confidence is None and isinstance(stated, int | float) and not isinstance(stated, bool) and 0 <= stated <= 1:
        confidence = float(stated)
    if confidence is None:
        return None
    # JSON can spell half a character, and a database cannot keep it.
    whole = reason[:500].encode(errors="replace").decode() if isinstance(reason, str) else ""
    return Said(name.strip(), confidence, whole)


def _answers(content: str) -> list[dict[str, Any]]:
    """The different JSON objects with a class that stand in the words, outermost ones only."""
    decoder = json.JSONDecoder(object_pairs_hook=_without_doubles)
    found: list[dict[str, Any]] = []
    at = content.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(content, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if "class" in value and value not in found:
                found.append(value)
        at = content.find("{", end)
    return found


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("the same key twice")
    return dict(pairs)


def _measured(reply: Reply) -> float | None:
    """The probability of the tokens between the quotes of the class, given what stood before them."""
    starts = [match.end() for match in re.finditer(r'"class"\s*:\s*"', reply.content)]
    if len(starts) != 1 or "".join(token for token, _ in reply.logprobs) != reply.content:
        return None
    start = starts[0]
    try:
        end = json.JSONDecoder().raw_decode(reply.content, start - 1)[1] - 1
    except ValueError:
        return None
    total, at = 0.0, 0
    for token, logprob in reply.logprobs:
        if at < end and at + len(token) > start:
            total += logprob
        at += len(token)
    return math.exp(total) if total <= 0 else None
