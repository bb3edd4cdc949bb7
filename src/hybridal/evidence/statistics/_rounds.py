"""Histories, checked: whole from round 1 on, with the signal that is asked about."""

from __future__ import annotations

from collections.abc import Sequence

from hybridal.core.facts import Round
from hybridal.errors import UserError
from hybridal.evidence.statistics._numbers import number


def whole(history: Sequence[Round]) -> Sequence[Round]:
    """The history itself; positions are rounds only where none is missing."""
    for place, fact in enumerate(history, start=1):
        if fact.round != place:
            raise UserError(f"Round {place} is missing from a history: round {fact.round} stands in its place.")
    return history


def checked_changes(history: Sequence[Round], signal: str) -> list[float | None]:
    """The changes of one signal, round by round; None where there is none, as in round 1."""
    changes: list[float | None] = []
    for fact in whole(history):
        if signal not in fact.changes:
            known = ", ".join(fact.changes) or "none"
            raise UserError(f"Round {fact.round} did not record the signal '{signal}'; it has {known}.")
        change = fact.changes[signal]
        changes.append(None if change is None else number(change, f"the change of '{signal}' in round {fact.round}"))
    return changes
