"""The language model's job, which labels in a background thread until it is stopped, fails, or has spent its budget."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Literal

from hybridal.annotators.llm.ask_label import ChatModel, LlmResult, ask_label, in_parallel
from hybridal.annotators.llm.chat_client import ChatClient, UnavailableError
from hybridal.annotators.llm.failure_streaks import FailureStreaks
from hybridal.annotators.llm.llm_address import api_key, check_server
from hybridal.annotators.llm.llm_budget import Budget
from hybridal.app.consent import allow_sending, may_send
from hybridal.app.db.schema import Text
from hybridal.app.llm.annotator import (
    LlmSettings,
    choose_examples,
    llm_annotator,
    llm_candidates,
    load_settings,
    save_settings,
)
from hybridal.app.llm.records import cached_result, queue_for_people, record_result, spent_tokens, withdraw_contradicted
from hybridal.app.project import Project
from hybridal.errors import UserError
from hybridal.sentences import translatable

Phase = Literal["stopped", "working", "waiting", "spent", "failed"]

IDLE_SECONDS = 5.0  # between two checks for new texts
_FIRST_PAUSE, _LONGEST_PAUSE = 30.0, 600.0  # seconds after failures
_MAX_FAILURES = 5  # in a row

log = logging.getLogger(__name__)


class StoppedError(Exception):
    """The job was stopped while it was waiting."""


class Job:
    """A job that labels texts. Its whole state is in the database, so it can be killed at any time and resumed.

    `sleep` waits some seconds, or raises `StoppedError`. `phase` and `error` are shown on the page: in the phase
    `waiting`, an error means that the server is busy; without one, the job waits for more texts.
    """

    def __init__(self, project: Project, sleep: Callable[[float], object]) -> None:
        self.project = project
        self.phase: Phase = "working"
        self.error = ""
        self._sleep = sleep
        self._failures = 0
        self._streaks = FailureStreaks()

    def wait_for(self, thread: threading.Thread) -> None:
        """Wait until the previous job has recorded its last answers, which count towards the same budget."""
        if thread.is_alive():
            self.phase, self.error = "waiting", "The previous run is still receiving its last answers."
            thread.join()
            self.phase, self.error = "working", ""

    def run(self) -> None:
        """Work, and retry after temporary failures."""
        try:
            while self._work_or_fail():
                self._sleep(min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (self._failures - 1)))
        except StoppedError:
            self.phase, self.error = "stopped", ""

    def _work_or_fail(self) -> bool:
        """Work until the end or a failure; return whether to retry."""
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
            if self._failures + 1 >= _MAX_FAILURES:
                sentence = f"It failed {_MAX_FAILURES} times in a row; see the log for the reason."
                self.phase, self.error = "failed", sentence
                return False
        self._failures += 1
        return True

    def work(self) -> None:
        """Label texts until the budget is spent; wait for new texts when all are done."""
        with self.project.reads() as session:
            plan, spent = load_settings(session), spent_tokens(session)
        budget = Budget(plan.budget_tokens, spent)
        client = ChatClient(
            plan.base_url,
            plan.model,
            api_key(),
            by_operator=self.project.owner_is_operator,
            timeout=plan.timeout,
            per_minute=plan.per_minute,
            sleep=self._sleep,
            on_retry=self._report_retry,
        )
        try:
            while (answered := self._label_batch(plan, client, budget)) is not None:
                self.phase, self.error = "working" if answered else "waiting", ""
                self._sleep(0 if answered else IDLE_SECONDS)
            self.phase, self.error = "spent", ""
        finally:
            client.close()

    def _label_batch(self, plan: LlmSettings, client: ChatModel, budget: Budget) -> int | None:
        """Ask about a few texts in parallel; return how many were answered, or None when the budget is spent."""
        with self.project.sessions.begin() as session:
            llm = llm_annotator(session, plan).validated()
            withdraw_contradicted(session, llm)
        with self.project.sessions.begin() as session:
            queue_for_people(session, llm)
            texts = llm_candidates(session, llm, self._streaks.batch_size(plan.parallel))
        with self.project.reads() as session:
            results = ((text.row, cached_result(session, llm, text.body)) for text in texts)
            cached = {row: result for row, result in results if result is not None}

        def ask(text: Text) -> LlmResult | None:
            return cached.get(text.row) or ask_label(client, llm.instructions, budget, text.body)

        answered, spent = 0, False
        problem: Exception | None = None
        for text, found in in_parallel(ask, texts):
            # Record all answers before raising a problem.
            if isinstance(found, Exception):
                problem = found
            elif found is None:
                spent = True
            else:
                with self.project.sessions.begin() as session:
                    record_result(session, llm, text, found)
                answered += 1
                if text.row not in cached:  # a cached answer says nothing new about the model
                    self._failures = 0
                    problem = self._streaks.count(found) or problem
        if problem is not None:
            raise problem
        # The missing budget may have been reserved by another thread; it is spent only if no text could be asked about.
        return None if spent and not answered else answered

    def _report_retry(self, reason: str) -> None:
        """Show why it takes long, unless the job has ended while other threads are still retrying."""
        if self.phase in ("working", "waiting"):
            self.phase, self.error = "waiting", reason


class LlmWorker:
    """Starts and stops the job of a project; at most one runs at a time. No method waits for a server."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._job: Job | None = None
        self._held = ""  # why a job of the last process was not resumed
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()  # held while starting or stopping

    @property
    def state(self) -> dict[str, str]:
        """The phase and the error, for the page."""
        if self._job is None:
            return {"phase": "stopped", "error": self._held}
        return {"phase": self._job.phase, "error": self._job.error}

    @property
    def active(self) -> bool:
        """Whether a job is running; one that failed or spent its budget starts again only on request."""
        return self.state["phase"] in ("working", "waiting")

    def start(self) -> None:
        """Start a job; raise if a setting is missing."""
        with self.project.reads() as session:
            plan = load_settings(session)
        if not plan.base_url or not plan.model:
            raise UserError(translatable("Enter the address of the LLM server and the name of the model first."))
        check_server(plan.base_url, with_key=bool(api_key()), by_operator=self.project.owner_is_operator)
        with self._lock:
            with self.project.sessions.begin() as session:
                plan = load_settings(session)
                shown = _shown(plan, choose_examples(session, plan.examples))
                plan = plan.model_copy(update={"running": True, "shown": shown})
                llm_annotator(session, plan).validated()
                save_settings(session, plan)
            allow_sending(self.project, plan.base_url)
            self.close()
            self._start_thread()

    def resume(self) -> None:
        """Start a job if one was running when the last process ended, unless the address has to be allowed first."""
        with self.project.reads() as session:
            plan = load_settings(session)
        if not plan.running or self._job is not None:
            return
        if may_send(self.project, plan.base_url):
            self._start_thread()
        else:
            self._held = f"This project comes from elsewhere: Start sends its texts to {plan.base_url} again."

    def stop(self) -> None:
        """Stop the job, so that it is not resumed later. Answers to requests in progress are still recorded."""
        with self._lock:
            self._note_end()
            self.close()

    def close(self) -> None:
        """Stop the job, because this process ends or another job starts."""
        self._stopping.set()
        self._job, self._held = None, ""

    def _start_thread(self) -> None:
        stopping = self._stopping = threading.Event()
        previous = self._thread

        def sleep(seconds: float) -> None:
            if stopping.wait(seconds):
                raise StoppedError

        job = self._job = Job(self.project, sleep)

        def work() -> None:
            # Two jobs at once would ask about the same texts, each with the whole remaining budget.
            if previous is not None:
                job.wait_for(previous)
            if stopping.is_set():
                return
            job.run()
            with self._lock:
                if job.phase == "failed" and self._job is job:
                    self._note_end()

        self._thread = threading.Thread(target=work, name="llm", daemon=True)
        self._thread.start()

    def _note_end(self) -> None:
        with self.project.sessions.begin() as session:
            save_settings(session, load_settings(session).model_copy(update={"running": False}))


def _shown(plan: LlmSettings, fresh: tuple[str, ...]) -> tuple[str, ...]:
    """Keep the examples while their number is unchanged: others would make it another annotator that starts over."""
    return plan.shown if len(plan.shown) == len(fresh) else fresh
