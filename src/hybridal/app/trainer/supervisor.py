"""Keeps a project's trainer process running; runs in a thread of the web process."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

from sqlalchemy.exc import SQLAlchemyError

from hybridal.app.db.schema import Trainer
from hybridal.app.project import Project
from hybridal.app.trainer.lifetime import MORE_TO_DO, NOTHING_TO_DO, YIELD_REQUEST
from hybridal.app.trainer.pending_work import ProjectState, has_work, read_state
from hybridal.app.trainer.publish import write_status
from hybridal.app.trainer.trainer_slots import Slot, TrainerQueue

MAX_CRASHES = 6  # in a row, without a finished round in between
MAX_DELAY = 60.0  # seconds between two starts
LOG_BYTES = 1_000_000
KILLED = -9  # SIGKILL, which is not defined on every system
POLL_SECONDS = 1.0  # between two checks for work
log = logging.getLogger(__name__)


def restart_delay(crashes: int) -> float:
    """Return the back-off in seconds after this many crashes in a row.

    >>> [restart_delay(crashes) for crashes in (1, 2, 3, 9)]
    [1.0, 2.0, 4.0, 60.0]
    """
    return min(MAX_DELAY, 2.0 ** (crashes - 1))


def exit_reason(code: int) -> str:
    """Explain an exit code.

    >>> exit_reason(-9)
    'The trainer was killed, probably because the machine ran out of memory.'
    """
    if code == KILLED:
        return "The trainer was killed, probably because the machine ran out of memory."
    if code < 0:
        return f"The trainer was stopped by {signal.Signals(-code).name}."
    return f"The trainer exited with code {code}; see trainer.log for the reason."


def command(project: Project) -> list[str]:
    """The command line of the trainer."""
    return [sys.executable, "-m", "hybridal.app.trainer", str(project.folder)]


class Supervisor:
    """Starts the trainer, restarts it after a crash, and ends it with the web process.

    After `MAX_CRASHES` crashes in a row it waits for a request from the page. Projects that share a queue have a
    trainer only while they have a slot and work; a single project always has its trainer.

    Args:
        project: The project to train.
        queue: The queue that several projects share; None for a single project.
    """

    def __init__(self, project: Project, queue: TrainerQueue | None = None) -> None:
        self.project = project
        self.queue, self.alone = queue or TrainerQueue(), queue is None
        self.name = project.folder.name
        self.child: subprocess.Popen[bytes] | None = None
        self._idle_state: ProjectState | None = None  # the state in which the trainer last found no more work
        self._has_more = False  # it gave up its slot before its work was done
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def alive(self) -> bool:
        """Whether a trainer is running now."""
        return self.child is not None and self.child.poll() is None

    def start(self) -> None:
        """Start the supervisor's thread and return."""
        if self._thread is None:
            self._stopping.clear()
            self._thread = threading.Thread(target=self._keep, name="trainer's supervisor", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the trainer; an unfinished round is computed again at the next start."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            self._say(phase="stopped")

    def _keep(self) -> None:
        crashes, reached = 0, -1
        if not self.alone:
            self._rest()
        while (slot := self._wait_for_turn()) is not None:
            born = time.monotonic()
            try:
                code = self._run(slot)
            except OSError:
                log.exception("The trainer could not be started.")
                code = 1
            finally:
                self.queue.leave(self.name)
            if code is None:
                return
            if code in (NOTHING_TO_DO, MORE_TO_DO):
                crashes = 0
                self._has_more = code == MORE_TO_DO
                self._rest()
                continue
            self._idle_state, self._has_more = None, False
            phase, round = self._status()
            well = phase == "waiting" and time.monotonic() - born > MAX_DELAY
            crashes, reached = 1 if well or round != reached else crashes + 1, round
            log.warning("The trainer ended with code %s.", code)
            if crashes < MAX_CRASHES:
                self._say(phase="failed", error=f"{exit_reason(code)} It will be restarted.")
                self._stopping.wait(restart_delay(crashes))
            else:
                times = f"This happened {crashes} times in a row, so it will only be restarted when you ask for it."
                self._say(phase="failed", error=f"{exit_reason(code)} {times}", request="")
                self._wait_for_request()
                crashes = 0

    def _wait_for_turn(self) -> Slot | None:
        """Wait until there is work and a slot; None if the supervisor is stopped."""
        while self._stopping.is_set() or not (self.alone or self._has_more or self._has_work()):
            if self._stopping.wait(POLL_SECONDS):
                return None
        self.queue.join(self.name)
        shown = 0
        while (slot := self.queue.take(self.name)) is None:
            if (before := len(self.queue.before(self.name))) not in (0, shown):
                self._say(phase="queued", done=before)
                shown = before
            if self._stopping.wait(POLL_SECONDS):
                self.queue.leave(self.name)
                return None
        if shown:
            self._say(phase="loading")
        return slot

    def _has_work(self) -> bool:
        try:
            now = read_state(self.project)
            if has_work(self.project, self._idle_state):
                return True
            self._idle_state = self._idle_state or now  # the run folders are only read the first time
        except (SQLAlchemyError, OSError):
            pass  # the next check may succeed, and the pages show the error
        return False

    def _rest(self) -> None:
        """Show that it is not this project's turn; an error stays visible."""
        if self._status()[0] != "failed":
            self._say(phase="resting")

    def _run(self, slot: Slot) -> int | None:
        """Run a trainer; return its exit code, or None if the supervisor was stopped."""
        file = self.project.log
        if file.exists() and file.stat().st_size > LOG_BYTES:
            file.replace(file.with_name(f"{file.name}.1"))
        environment = {**os.environ, **self.project.environment, **slot}
        with file.open("ab") as output:
            # The trainer exits when the pipe closes, that is when this process ends.
            # A new session keeps a Ctrl-C for the server from reaching it.
            self.child = subprocess.Popen(
                command(self.project),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
            )
        notified = False
        while True:
            if self._stopping.is_set():
                self._end(self.child)
                return None
            if self.queue.crowded and not notified:
                notified = True
                self._ask_to_yield(self.child)
            with suppress(subprocess.TimeoutExpired):
                code = self.child.wait(0.2)
                _close(self.child)
                return code

    def _ask_to_yield(self, child: subprocess.Popen[bytes]) -> None:
        with suppress(SQLAlchemyError):  # without a database the trainer gives up its slot too
            self._idle_state = read_state(self.project)  # before the trainer's last check, so that nothing is missed
        with suppress(OSError):  # the trainer has just ended
            os.write(child.stdin.fileno(), YIELD_REQUEST)  # type: ignore[union-attr]

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        _close(child)

    def _wait_for_request(self) -> None:
        while not self._stopping.wait(POLL_SECONDS):
            with suppress(SQLAlchemyError), self.project.reads() as session:
                row = session.get(Trainer, 1)
                if row is not None and row.request:
                    return

    def _status(self) -> tuple[str, int]:
        """The phase and the round that the trainer last wrote."""
        with suppress(SQLAlchemyError), self.project.reads() as session:
            row = session.get(Trainer, 1)
            if row is not None:
                return row.phase, row.round
        return "", -1

    def _say(self, **values: str | int) -> None:
        try:
            with self.project.sessions.begin() as session:
                write_status(session, **values)
        except SQLAlchemyError:
            log.exception("The status of the trainer could not be written.")


def _close(child: subprocess.Popen[bytes]) -> None:
    if child.stdin is not None:
        child.stdin.close()
