"""The LLM at work, turn by turn, until it is stopped, has spent its budget, or cannot go on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal

from hybridal.app.db.schema import Text
from hybridal.app.llm import book
from hybridal.app.llm.address import UnavailableError
from hybridal.app.llm.annotator import annotator
from hybridal.app.llm.asking import Answers, Asked, ask
from hybridal.app.llm.budget import Budget
from hybridal.app.llm.candidates import candidates
from hybridal.app.llm.plan import Plan, key, load
from hybridal.app.llm.side_by_side import side_by_side
from hybridal.app.project import Project
from hybridal.errors import UserError

Phase = Literal["stopped", "working", "waiting", "spent", "failed"]

IDLE = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 30.0, 600.0
_PATIENCE = 5
_REFUSALS = 10

log = logging.getLogger(__name__)


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
            self.phase, self.error = "waiting", "Something unexpected happened; the log tells what."
            if self._failures + 1 >= _PATIENCE:
                self.phase, self.error = "failed", f"It failed {_PATIENCE} times in a row; the log tells why."
                return False
        self._failures += 1
        return True

    def work(self) -> None:
        """Asks until the budget is spent. When all texts are done it waits for more of them."""
        try:
            from hybridal.app.llm.client import Client
        except ModuleNotFoundError as error:
            raise UserError("To ask an LLM, install `hybridal[llm]` and start the app again.") from error
        with self.project.reads() as session:
            plan, spent = load(session), book.spent(session)
        budget = Budget(plan.budget_tokens, spent)
        client = Client(
            plan.base_url,
            plan.model,
            key(),
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

    def _turn(self, plan: Plan, client: Answers, budget: Budget) -> int | None:
        """Asks for a few texts side by side: how many were answered, or None when the budget is spent."""
        with self.project.sessions.begin() as session:
            llm = annotator(session, plan).insist()
            book.take_back(session, llm)
        with self.project.sessions.begin() as session:
            book.hand_over(session, llm)
            texts = candidates(session, llm, plan.parallel)

        def ask_for(text: Text) -> Asked | None:
            with self.project.reads() as session:
                kept = book.known(session, llm, text.body)
            return kept or ask(client, llm.instructions, budget, text.body)

        answered, problem, spent = 0, None, False
        for text, found in side_by_side(ask_for, texts):
            # What others have answered is kept before a problem is told.
            if isinstance(found, Exception):
                problem = found
            elif found is None:
                spent = True
            else:
                with self.project.sessions.begin() as session:
                    book.record(session, llm, text, found)
                answered += 1
                self._count(found)
        if problem is not None:
            raise problem
        # Others may have set aside what was missing; it is spent when nobody can ask any more.
        return None if spent and not answered else answered

    def _hear(self, complaint: str) -> None:
        """Says why it takes long, unless the job has ended: others asked side by side may still be at it then."""
        if self.phase in ("working", "waiting"):
            self.phase, self.error = "waiting", complaint

    def _count(self, asked: Asked) -> None:
        """One text that the server does not take is that text's fault; ten in a row are the server's."""
        self._failures = 0
        self._refusals = self._refusals + 1 if asked.refused else 0
        if self._refusals >= _REFUSALS:
            raise UserError(asked.refused)
