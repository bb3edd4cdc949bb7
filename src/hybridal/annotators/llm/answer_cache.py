"""Answers of a language model in a file, so that no question is asked or paid for twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hybridal.annotators.llm.ask_label import LlmResult
from hybridal.annotators.llm.prompt import LlmAnswered, LlmLabel
from hybridal.system.journal import Journal


class AnswerCache:
    """Answers by question. Each is written durably before the next is asked for; without a path, kept in memory.

    Attributes:
        tokens: What all answers cost.
        asked: How many questions were asked.
        usable: How many of the answers are labels.

    >>> cache = AnswerCache()
    >>> cache.add("question", LlmResult(LlmLabel("bug", 0.9), tokens=40))
    >>> cache.get("question").label.answer, cache.get("another"), cache.tokens
    ('bug', None, 40)
    """

    def __init__(self, path: Path | None = None) -> None:
        self._journal = None if path is None else Journal(path)
        self._results: dict[str, LlmResult] = {}
        self._spent_limit = 0
        self.tokens = self.asked = self.usable = 0
        for line in self._journal.read() if self._journal else ():
            if "spent" in line:
                self._spent_limit = line["spent"]
            else:
                self._count(line["question"], _from_json(line))

    def get(self, question: str) -> LlmResult | None:
        """The answer to a question, if it was asked before."""
        return self._results.get(question)

    def add(self, question: str, result: LlmResult) -> None:
        """Store an answer."""
        self._append({"question": question, **_to_json(result)})
        self._count(question, result)

    def is_spent(self, limit: int) -> bool:
        """Whether a budget of this many tokens was found to be used up."""
        return self._spent_limit >= limit

    def mark_spent(self, limit: int) -> None:
        """Store that a budget is used up, so that a resumed run ends in the same way."""
        self._append({"spent": limit})
        self._spent_limit = limit

    def _append(self, line: dict[str, Any]) -> None:
        if self._journal is not None:
            self._journal.path.parent.mkdir(parents=True, exist_ok=True)
            self._journal.append(line)

    def _count(self, question: str, result: LlmResult) -> None:
        self._results[question] = result
        self.tokens += result.tokens
        self.asked += 1
        self.usable += result.label is not None


def _to_json(result: LlmResult) -> dict[str, Any]:
    label = result.label
    if label is None:
        return {"label": None, "tokens": result.tokens, "refused": result.refused, "reply": result.raw_reply[:1000]}
    answer = label.answer if isinstance(label.answer, str) else sorted(label.answer)
    return {"label": answer, "confidence": label.confidence, "reason": label.reason, "tokens": result.tokens}


def _from_json(line: dict[str, Any]) -> LlmResult:
    if line["label"] is None:
        return LlmResult(None, line["tokens"], line["refused"], line["reply"])
    answer: LlmAnswered = line["label"] if isinstance(line["label"], str) else frozenset(line["label"])
    return LlmResult(LlmLabel(answer, line["confidence"], line["reason"]), line["tokens"])
