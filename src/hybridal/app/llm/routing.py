"""LLM first, people where it is unsure or contradicted."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from hybridal.app.llm.answers import Said

Route = Literal["accepted", "unsure", "contradicted", "unusable", "shared"]


@dataclass(frozen=True)
class Rule:
    """An answer is accepted from `threshold` on, unless the model gives another class with `contradiction` or more.

    A share `overlap` of the texts goes to people whatever the LLM says: on them it is put to the test.
    """

    threshold: float = 0.9
    contradiction: float = 0.8
    overlap: float = 0.1


@dataclass(frozen=True)
class Guessed:
    """What the trained model thinks of the text."""

    class_name: str
    probability: float


def route(rule: Rule, said: Said | None, guess: Guessed | None, shared: bool) -> Route:
    """Where a text goes that the LLM was asked about: only `accepted` becomes a label, all else goes to people.

    >>> route(Rule(), Said("bug", 0.95), None, shared=False)
    'accepted'
    >>> route(Rule(), Said("bug", 0.95), Guessed("idea", 0.85), shared=False)
    'contradicted'
    """
    if shared:
        return "shared"
    if said is None:
        return "unusable"
    if said.confidence < rule.threshold:
        return "unsure"
    if guess is not None and guess.class_name != said.class_name and guess.probability >= rule.contradiction:
        return "contradicted"
    return "accepted"


def in_overlap(rule: Rule, text_id: str) -> bool:
    """Whether a text is one of those for the test: a matter of its id alone, so that nobody's answers choose it.

    >>> sum(in_overlap(Rule(overlap=0.25), str(n)) for n in range(1000))
    256
    """
    digest = hashlib.sha256(f"overlap|{text_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < rule.overlap * 2**64


def urgency(said: Said | None) -> int:
    """The rank, before all of the model's own wishes, at which people get a text: what the LLM knows least comes first.

    >>> urgency(None), urgency(Said("bug", 0.25)), urgency(Said("bug", 1.0))
    (-1001, -751, -1)
    """
    return round(1000 * said.confidence) - 1001 if said else -1001
