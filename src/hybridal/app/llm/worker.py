"""Starts and stops the LLM's job, in a thread beside the web."""

from __future__ import annotations

import threading

from hybridal.app.llm.address import check_address
from hybridal.app.llm.annotator import annotator, choose_examples
from hybridal.app.llm.job import Job, StoppedError
from hybridal.app.llm.plan import Plan, keep, key, load
from hybridal.app.project import Project
from hybridal.errors import UserError


class Worker:
    """At most one job of a project at a time. None of its methods waits for a server."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._job: Job | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def state(self) -> dict[str, str]:
        """What the page shows."""
        if self._job is None:
            return {"phase": "stopped", "error": ""}
        return {"phase": self._job.phase, "error": self._job.error}

    def start(self) -> None:
        """Begins, if all that is needed is there."""
        with self.project.sessions.begin() as session:
            plan = load(session)
            if not plan.base_url or not plan.model:
                raise UserError("Give the address of the LLM's server and the name of the model first.")
            check_address(plan.base_url, bool(key()))
            shown = _shown(plan, choose_examples(session, plan.examples))
            plan = plan.model_copy(update={"running": True, "shown": shown})
            annotator(session, plan).insist()
            keep(session, plan)
        self.close()
        self._begin()

    def resume(self) -> None:
        """Goes on, if the last process ended while it was at work."""
        with self.project.reads() as session:
            running = load(session).running
        if running and self._job is None:
            self._begin()

    def stop(self) -> None:
        """Stops for good: it does not resume by itself. What the server is answering now is still recorded."""
        with self.project.sessions.begin() as session:
            keep(session, load(session).model_copy(update={"running": False}))
        self.close()

    def close(self) -> None:
        """Stops because this process ends, or another job begins."""
        self._stopping.set()
        self._job = None

    def _begin(self) -> None:
        stopping = self._stopping = threading.Event()

        def nap(seconds: float) -> None:
            if stopping.wait(seconds):
                raise StoppedError

        self._job = Job(self.project, nap)
        self._thread = threading.Thread(target=self._job.run, name="llm", daemon=True)
        self._thread.start()


def _shown(plan: Plan, fresh: tuple[str, ...]) -> tuple[str, ...]:
    """Examples stay while as many are wanted: with others it would be another annotator, asked all over again."""
    return plan.shown if len(plan.shown) == len(fresh) else fresh
