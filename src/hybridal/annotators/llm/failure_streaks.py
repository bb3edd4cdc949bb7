"""Stop asking a language model after several failures in a row: then the texts are not the reason."""

from __future__ import annotations

from hybridal.annotators.llm.ask_label import LlmResult, unusable_reason
from hybridal.errors import UserError

MAX_REFUSALS = 10
MAX_UNUSABLE = 5


class FailureStreaks:
    """Counts refused and unusable answers in a row.

    >>> streaks = FailureStreaks()
    >>> streaks.batch_size(8), streaks.count(LlmResult(None, 40, raw_reply="hm")), streaks.batch_size(8)
    (5, None, 4)
    """

    def __init__(self) -> None:
        self._refusals = 0
        self._unusable = 0
        self._was_usable = False  # whether any answer could be used so far

    def batch_size(self, parallel: int) -> int:
        """How many texts to ask about in parallel; until an answer was usable, no more than may fail in a row."""
        is_proven = self._was_usable and not self._unusable
        return parallel if is_proven else min(parallel, MAX_UNUSABLE - self._unusable)

    def count(self, result: LlmResult) -> UserError | None:
        """Count an outcome; return an error after too many failures in a row."""
        self._refusals = self._refusals + 1 if result.refused else 0
        is_unusable = result.label is None and not result.refused
        self._unusable = self._unusable + 1 if is_unusable else 0
        self._was_usable = self._was_usable or result.label is not None
        if self._refusals >= MAX_REFUSALS:
            return UserError(result.refused)
        if self._unusable >= MAX_UNUSABLE:
            why = unusable_reason(result.raw_reply, "The last one")
            return UserError(
                f"{self._unusable} answers in a row could not be used. {why} "
                "Try it on five texts, or choose another model."
            )
        return None
