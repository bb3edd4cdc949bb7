"""The LLM at work in a thread beside the web, until it is stopped, has spent its budget, or cannot go on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeVar

from hybridal.app.db.schema import Text
from hybridal.app.llm.annotator import (
    LlmSettings,
    api_key,
    choose_examples,
    llm_annotator,
    llm_candidates,
    load_settings,
    save_settings,
)
from hybridal.app.llm.llm_client import Budget, ChatModel, Client, LlmResult, UnavailableError, ask, check_address
from hybridal.app.llm.records import cached_result, queue_for_people, record_result, spent_tokens, withdraw_contradicted
from hybridal.app.project import Project
from hybridal.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_parallel(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[tuple[Item, Result | Exception]]:
    """Each item with what the function makes of it, or with its error, in the order of the items.

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


Phase = Literal["stopped", "working", "waiting", "spent", "failed"]

IDLE = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 30.0, 600.0
_PATIENCE = 5
_REFUSALS = 10
_UNUSABLE = 5

log = logging.getLogger(__name__)


def unusable(heard: str) -> str:
    """Why an answer was left to people.

    >>> unusable("I cannot\\nhelp.")
    'The answer cannot be used; it was: “I cannot help.”'
    """
    return f"The answer cannot be used; it was: “{' '.join(heard.split()):.120}”" if heard else "The answer was empty."


class StoppedError(Exception):
    """Somebody asked for an end while the job was waiting."""


class Job:
    """Everything it knows is in the database, so that it can be killed at any time and begun again.

    `nap` waits some seconds, or raises `StoppedError`. `phase` and `error` are for the page: it waits for a server
    that is busy if there is an error, else for more texts.
    """

    def __init__(self, project: Project, nap: Callable[[float], object]) -> None:
        self.project = project
        self.phase: Phase = "working"
        self.error = ""
        self._nap = nap
        self._failures = 0
        self._refusals = 0
        self._unusable = 0
        self._usable = False  # whether any answer could be used yet

    def wait_for(self, thread: threading.Thread) -> None:
        """Wait until the job before has recorded its last answers, which count towards the same budget."""
        if thread.is_alive():
            self.phase, self.error = "waiting", "The last answers of the run before are still on their way."
            thread.join()
            self.phase, self.error = "working", ""

    def run(self) -> None:
        """Works, and survives what may happen meanwhile."""
        try:
            while self._survives():
                self._nap(min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (self._failures - 1)))
        except StoppedError:
            self.phase, self.error = "stopped", ""

    def _survives(self) -> bool:
        """Works as long as it goes well; whether it is worth another try."""
        try:
            self.work()
            return False
        except UnavailableError as error:
            self.phase, self.error = "waiting", str(error)
        except StoppedError:
            raise
        except UserError as error:
            self.phase, self.error = "failed", str(error)
            return False
        except Exception:
            log.exception("The LLM's job failed.")
            self.phase, self.error = "waiting", "An unexpected error occurred; see the log."
            if self._failures + 1 >= _PATIENCE:
                self.phase, self.error = "failed", f"It failed {_PATIENCE} times in a row; see the log for the reason."
                return False
        self._failures += 1
        return True

    def work(self) -> None:
        """Asks until the budget is spent. When all texts are done it waits for more of them."""
        with self.project.reads() as session:
            plan, spent = load_settings(session), spent_tokens(session)
        budget = Budget(plan.budget_tokens, spent)
        client = Client(
            plan.base_url,
            plan.model,
            api_key(),
            by_operator=self.project.owner_is_operator,
            timeout=plan.timeout,
            per_minute=plan.per_minute,
            sleep=self._nap,
            complain=self._hear,
        )
        try:
            while (asked := self._turn(plan, client, budget)) is not None:
                self.phase, self.error = "working" if asked else "waiting", ""
                self._nap(0 if asked else IDLE)
            self.phase, self.error = "spent", ""
        finally:
            client.close()

    def _turn(self, plan: LlmSettings, client: ChatModel, budget: Budget) -> int | None:
        """Asks for a few texts side by side: how many were answered, or None when the budget is spent."""
        with self.project.sessions.begin() as session:
            llm = llm_annotator(session, plan).insist()
            withdraw_contradicted(session, llm)
        with self.project.sessions.begin() as session:
            queue_for_people(session, llm)
            texts = llm_candidates(session, llm, self._at_once(plan.parallel))
        with self.project.reads() as session:
            known = {text.row: kept for text in texts if (kept := cached_result(session, llm, text.body)) is not None}

        def ask_for(text: Text) -> LlmResult | None:
            return known.get(text.row) or ask(client, llm.instructions, budget, text.body)

        answered, spent = 0, False
        problem: Exception | None = None
        for text, found in in_parallel(ask_for, texts):
            # What others have answered is kept before a problem is told.
            if isinstance(found, Exception):
                problem = found
            elif found is None:
                spent = True
            else:
                with self.project.sessions.begin() as session:
                    record_result(session, llm, text, found)
                answered += 1
                if text.row not in known:  # a copy of an answer says nothing new about the model
                    problem = self._count(found) or problem
        if problem is not None:
            raise problem
        # Others may have set aside what was missing; it is spent when nobody can ask any more.
        return None if spent and not answered else answered

    def _hear(self, complaint: str) -> None:
        """Says why it takes long, unless the job has ended: others asked side by side may still be at it then."""
        if self.phase in ("working", "waiting"):
            self.phase, self.error = "waiting", complaint

    def _at_once(self, parallel: int) -> int:
        """How many texts to ask about side by side: no more than may be unusable, until the model has proven itself."""
        return parallel if self._usable and not self._unusable else min(parallel, _UNUSABLE - self._unusable)

    def _count(self, asked: LlmResult) -> UserError | None:
        """One text that the server does not take, or answers with rubbish, is that text's fault; a few in a row are
        the server's or the model's.
        """
        self._failures = 0
        self._refusals = self._refusals + 1 if asked.refused else 0
        rubbish = asked.said is None and not asked.refused
        self._unusable = self._unusable + 1 if rubbish else 0
        self._usable = self._usable or asked.said is not None
        if self._refusals >= _REFUSALS:
            return UserError(asked.refused)
        if self._unusable >= _UNUSABLE:
            why = f"{self._unusable} answers in a row could not be used, so it asks no more. {unusable(asked.heard)}"
            return UserError(f"{why} Try it on five texts, or choose another model.")
        return None


class LlmWorker:
    """At most one job of a project at a time. None of its methods waits for a server: the next job does."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._job: Job | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._turn = threading.Lock()  # to decide whether it is to run

    @property
    def state(self) -> dict[str, str]:
        """What the page shows."""
        if self._job is None:
            return {"phase": "stopped", "error": ""}
        return {"phase": self._job.phase, "error": self._job.error}

    @property
    def active(self) -> bool:
        """Whether a job is under way: one that failed or spent its budget only starts again when it is told to."""
        return self.state["phase"] in ("working", "waiting")

    def start(self) -> None:
        """Begins, if all that is needed is there."""
        with self._turn:
            with self.project.sessions.begin() as session:
                plan = load_settings(session)
                if not plan.base_url or not plan.model:
                    raise UserError("Give the address of the LLM's server and the name of the model first.")
                check_address(plan.base_url, bool(api_key()))
                shown = _shown(plan, choose_examples(session, plan.examples))
                plan = plan.model_copy(update={"running": True, "shown": shown})
                llm_annotator(session, plan).insist()
                save_settings(session, plan)
            self.close()
            self._begin()

    def resume(self) -> None:
        """Goes on, if the last process ended while it was at work."""
        with self.project.reads() as session:
            running = load_settings(session).running
        if running and self._job is None:
            self._begin()

    def stop(self) -> None:
        """Stops for good: it does not resume by itself. What the server is answering now is still recorded."""
        with self._turn:
            self._note_end()
            self.close()

    def close(self) -> None:
        """Stops because this process ends, or another job begins."""
        self._stopping.set()
        self._job = None

    def _begin(self) -> None:
        stopping = self._stopping = threading.Event()
        before = self._thread

        def nap(seconds: float) -> None:
            if stopping.wait(seconds):
                raise StoppedError

        job = self._job = Job(self.project, nap)

        def work() -> None:
            # Two jobs would ask about the same texts, each with the whole budget that was left.
            if before is not None:
                job.wait_for(before)
            if stopping.is_set():
                return
            job.run()
            with self._turn:
                if job.phase == "failed" and self._job is job:
                    self._note_end()

        self._thread = threading.Thread(target=work, name="llm", daemon=True)
        self._thread.start()

    def _note_end(self) -> None:
        with self.project.sessions.begin() as session:
            save_settings(session, load_settings(session).model_copy(update={"running": False}))


def _shown(plan: LlmSettings, fresh: tuple[str, ...]) -> tuple[str, ...]:
    """Examples stay while as many are wanted: with others it would be another annotator, asked all over again."""
    return plan.shown if len(plan.shown) == len(fresh) else fresh
