"""A language model that labels texts for a learner or a run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from hybridal.annotators import Example
from hybridal.annotators.llm.answer_cache import AnswerCache
from hybridal.annotators.llm.ask_label import LlmResult, ask_label, in_parallel
from hybridal.annotators.llm.chat_client import ChatClient
from hybridal.annotators.llm.failure_streaks import FailureStreaks
from hybridal.annotators.llm.llm_address import allowed_address, api_key, check_server
from hybridal.annotators.llm.llm_budget import Budget
from hybridal.annotators.llm.nearest_texts import NearestTexts
from hybridal.annotators.llm.prompt import Example as PromptExample
from hybridal.annotators.llm.prompt import Instructions, cache_key
from hybridal.errors import UserError
from hybridal.tasks.answers import Answer, Decisions
from hybridal.tasks.task import Task

ANSWERS_FILE = "llm_answers.jsonl"
DEFAULT_BUDGET = 500_000

_log = logging.getLogger(__name__)


class _Question(NamedTuple):
    text: str
    nearest: Sequence[PromptExample]


class LlmAnnotator:
    """A language model on a server with an OpenAI-compatible API labels the texts.

    Its instructions are the classes with their descriptions, the guidelines, and the texts most similar to each text
    among those that people have labelled, the most similar last. The API key is read from `HYBRIDAL_LLM_KEY` only and
    sent to the address in `HYBRIDAL_LLM_URL` only. Failed requests are repeated with increasing delays. Texts for which
    there is no usable answer, or no budget, stay unlabelled.

    Args:
        model: The model's name on the server.
        url: The server's address up to `/v1`; by default `HYBRIDAL_LLM_URL`.
        guidelines: What people who label these texts are told.
        nearest: How many similar labelled texts each question shows; 0 shows none.
        budget_tokens: How many tokens it may use in all; by default 500,000, or what `budget_money` pays for.
        budget_money: What it may cost in all, in the currency of `price`.
        price: The price of a million tokens.
        per_minute: The most requests per minute.
        parallel: The most requests at once.
        timeout: Seconds to wait for an answer.
        answers: A file with all answers, so that no question is asked twice; by default in the folder of the run, or
            only in memory.

    Raises:
        UserError: If the server must not be called, a number is out of range, or `httpx` is not installed.

    Example:
        >>> from hybridal.testing import stub_chat_server
        >>> from hybridal.testing.small import toy_task
        >>> task = toy_task()
        >>> with stub_chat_server(lambda text: "food" if "soup" in text else "sport") as url:
        ...     annotator = LlmAnnotator("any-model", url, price=0.5)
        ...     annotator.begin(task)
        ...     print(annotator.label({"a": "hot soup", "b": "a late goal"}))
        ...     print(annotator.spent_tokens, annotator.spent_money)
        {'a': 'food', 'b': 'sport'}
        200 0.0001
    """

    name: ClassVar[str] = "llm"

    def __init__(
        self,
        model: str,
        url: str = "",
        *,
        guidelines: str = "",
        nearest: int = 8,
        budget_tokens: int | None = None,
        budget_money: float | None = None,
        price: float | None = None,
        per_minute: float = 60,
        parallel: int = 4,
        timeout: float = 60,
        answers: str | Path | None = None,
    ) -> None:
        for field, value, least in (("nearest", nearest, 0), ("parallel", parallel, 1)):
            _require(isinstance(value, int) and value >= least, field, f"must be a whole number of at least {least}")
        for field, amount in (("per_minute", per_minute), ("timeout", timeout)):
            _require(amount > 0, field, "must be positive")
        _require(price is None or price >= 0, "price", "must not be negative")
        _require(budget_money is None or bool(price), "budget_money", "needs `price`, the price of a million tokens")
        self.model, self.url = model, url or allowed_address()
        _require(bool(model), "model", "is empty; name a model of the server")
        _require(bool(self.url), "url", "is empty; give the server's address, such as http://127.0.0.1:11434/v1")
        check_server(self.url, with_key=bool(api_key()), by_operator=True)
        self.price, self.limit = price, _limit(budget_tokens, budget_money, price)
        self._guidelines, self._nearest_texts = guidelines.strip(), nearest
        self._parallel = parallel
        self._client = ChatClient(
            self.url,
            model,
            api_key(),
            by_operator=True,
            timeout=timeout,
            per_minute=per_minute,
            on_retry=lambda reason: self._notify(reason),
        )
        self._notify: Callable[[str], object] = _log.warning
        self._file = None if answers is None else Path(answers)
        self._instructions: Instructions | None = None
        self._similar: NearestTexts | None = None
        self._streaks = FailureStreaks()
        self._open(self._file)

    def begin(self, task: Task, folder: Path | None = None, notify: Callable[[str], object] | None = None) -> None:
        """Take the classes and their descriptions from a task; learners and runs call it.

        Args:
            task: The task.
            folder: Where answers are kept if `answers` names no file.
            notify: Receives a message when a request fails and is repeated.
        """
        described = tuple((name, " ".join(task.descriptions.get(name, ()))) for name in task.classes)
        self._instructions = Instructions(described, (), self._guidelines, task.multi_label)
        if self._file is None and folder is not None:
            self._open(folder / ANSWERS_FILE)
        self._notify = notify or self._notify

    def show(self, examples: Sequence[Example]) -> None:
        """Show it texts that people have labelled; learners and runs call it.

        Args:
            examples: Texts with their labels. Labels that decide only some of the classes are left out.
        """
        whole = [(text, answer) for text, answer in examples if not isinstance(answer, Decisions)]
        self._similar = NearestTexts(whole) if whole and self._nearest_texts else None

    def label(self, texts: Mapping[Any, str]) -> dict[Any, Answer]:
        """Ask for the labels of texts.

        Args:
            texts: The texts by id.

        Returns:
            Labels by id, without texts that got none.

        Raises:
            UserError: If the server rejects the requests, does not answer, or gives no usable answers.
        """
        if self._instructions is None:
            raise UserError("The language model knows no classes yet; call `begin` with a task first.")
        questions = {id: _Question(text, self._nearest(text)) for id, text in texts.items()}
        keys = {id: self._key(question) for id, question in questions.items()}
        self._ask({key: questions[id] for id, key in keys.items() if self._cache.get(key) is None})
        results = {id: self._cache.get(key) for id, key in keys.items()}
        return {id: found.label.answer for id, found in results.items() if found and found.label}

    @property
    def spent_tokens(self) -> int:
        """How many tokens all answers took."""
        return self._cache.tokens

    @property
    def spent_money(self) -> float | None:
        """What they cost; None without a price."""
        return None if self.price is None else self._cache.tokens * self.price / 1e6

    @property
    def label_price(self) -> float | None:
        """What a label cost on average so far; None without a price or a label."""
        return None if self.spent_money is None or not self._cache.usable else self.spent_money / self._cache.usable

    @property
    def is_spent(self) -> bool:
        """Whether the budget is used up."""
        return self._cache.is_spent(self.limit)

    @property
    def cost_sentence(self) -> str:
        """What it did and what that cost, for people."""
        asked, usable = self._cache.asked, self._cache.usable
        money = "" if self.spent_money is None else f", which cost {self.spent_money:,.2f}"
        spent = " Its budget is used up." if self.is_spent else ""
        return f"{self.model} labelled {usable:,} of {asked:,} texts with {self.spent_tokens:,} tokens{money}.{spent}"

    def _open(self, file: Path | None) -> None:
        self._cache = AnswerCache(file)
        self._budget = Budget(self.limit, self._cache.tokens)

    def _key(self, question: _Question) -> str:
        assert self._instructions is not None
        return cache_key(f"{self.model} {self.url}", self._instructions.messages(*question))

    def _nearest(self, text: str) -> list[PromptExample]:
        if self._similar is None:
            return []
        found = self._similar.of(text, self._nearest_texts + 1)
        others = [(shown, answer) for shown, answer in found if shown != text and not isinstance(answer, Decisions)]
        return others[-self._nearest_texts :]

    def _ask(self, waiting: Mapping[str, _Question]) -> None:
        """Ask questions, a few at a time, until all are answered or the budget is used up."""
        left = [*waiting.items()]
        while left and not self.is_spent:
            size = self._streaks.batch_size(self._parallel)
            part, left = left[:size], left[size:]
            unpaid = self._ask_part(part)
            left = [*unpaid, *left]  # the missing budget may have been reserved by another thread
            if len(unpaid) == len(part):
                self._cache.mark_spent(self.limit)

    def _ask_part(self, part: Sequence[tuple[str, _Question]]) -> list[tuple[str, _Question]]:
        """Ask a few questions at once; return those that the budget did not pay for."""
        instructions = self._instructions
        assert instructions is not None

        def ask(item: tuple[str, _Question]) -> LlmResult | None:
            return ask_label(self._client, instructions, self._budget, *item[1])

        problem: Exception | None = None
        unpaid: list[tuple[str, _Question]] = []
        for item, found in in_parallel(ask, part):
            if isinstance(found, Exception):
                problem = found
            elif found is None:
                unpaid.append(item)
            else:  # stored before a problem is raised: it is paid for
                self._cache.add(item[0], found)
                problem = self._streaks.count(found) or problem
        if problem is not None:
            raise problem
        return unpaid


def _limit(tokens: int | None, money: float | None, price: float | None) -> int:
    """The budget in tokens: the smaller one if there are two.

    >>> _limit(None, None, None), _limit(None, 9.0, 0.5), _limit(1000, 9.0, 0.5)
    (500000, 18000000, 1000)
    """
    limits = [] if tokens is None else [tokens]
    if money is not None and price:
        limits.append(int(money / price * 1e6))
    for limit in limits:
        _require(limit >= 0, "budget_tokens", "must not be negative")
    return min(limits, default=DEFAULT_BUDGET)


def _require(holds: bool, field: str, rule: str) -> None:
    if not holds:
        raise UserError(f"LlmAnnotator: `{field}` {rule}.", field=field)
