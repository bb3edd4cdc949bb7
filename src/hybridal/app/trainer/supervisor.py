"""Keeps a project's trainer running, from inside the web process."""

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
from hybridal.app.trainer.pending_work import Look, is_wanted, look
from hybridal.app.trainer.publish import write_status
from hybridal.app.trainer.turns import Place, Turns

PATIENCE = 6  # deaths in a row, without anything done in between
LONGEST = 60.0  # seconds between two starts
LOG_BYTES = 1_000_000
KILLED = -9  # not every system has a name for it
LOOKS = 1.0  # seconds between two looks whether there is something to do
log = logging.getLogger(__name__)


def restart_delay(deaths: int) -> float:
    """How long to wait after so many deaths in a row.

    >>> [restart_delay(deaths) for deaths in (1, 2, 3, 9)]
    [1.0, 2.0, 4.0, 60.0]
    """
    return min(LONGEST, 2.0 ** (deaths - 1))


def exit_reason(code: int) -> str:
    """Why a process ended, as far as its exit code tells.

    >>> exit_reason(-9)
    'The trainer was killed, probably because the machine ran out of memory.'
    """
    if code == KILLED:
        return "The trainer was killed, probably because the machine ran out of memory."
    if code < 0:
        return f"The trainer was stopped by {signal.Signals(-code).name}."
    return f"The trainer exited with code {code}; see trainer.log for the reason."


def command(project: Project) -> list[str]:
    """What is run."""
    return [sys.executable, "-m", "hybridal.app.trainer", str(project.folder)]


class Supervisor:
    """Starts the trainer, starts it again when it dies, and ends it with the web process.

    After `PATIENCE` deaths in a row it gives up and says so, until somebody asks for something. Where projects take
    `turns`, there is a trainer only while it is this project's turn; one that is alone has its trainer all the time.
    """

    def __init__(self, project: Project, turns: Turns | None = None) -> None:
        self.project = project
        self.turns, self.alone = turns or Turns(), turns is None
        self.name = project.folder.name
        self.child: subprocess.Popen[bytes] | None = None
        self._looked: Look | None = None  # what there was when the trainer last found nothing more to do
        self._has_more = False  # it left its place in the middle of something
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def alive(self) -> bool:
        """Whether a trainer is running now."""
        return self.child is not None and self.child.poll() is None

    def start(self) -> None:
        """Returns at once; the trainer comes up beside."""
        if self._thread is None:
            self._stopping.clear()
            self._thread = threading.Thread(target=self._keep, name="trainer's supervisor", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Ends the trainer; what it was computing is computed again another time."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            self._say(phase="stopped")

    def _keep(self) -> None:
        deaths, reached = 0, -1
        if not self.alone:
            self._rest()
        while (place := self._wait_for_turn()) is not None:
            born = time.monotonic()
            try:
                code = self._run(place)
            except OSError:
                log.exception("The trainer could not be started.")
                code = 1
            finally:
                self.turns.leave(self.name)
            if code is None:
                return
            if code in (NOTHING_TO_DO, MORE_TO_DO):
                deaths = 0
                self._has_more = code == MORE_TO_DO
                self._rest()
                continue
            self._looked, self._has_more = None, False
            phase, round = self._standing()
            well = phase == "waiting" and time.monotonic() - born > LONGEST
            deaths, reached = 1 if well or round != reached else deaths + 1, round
            log.warning("The trainer ended with code %s.", code)
            if deaths < PATIENCE:
                self._say(phase="failed", error=f"{exit_reason(code)} It will be restarted.")
                self._stopping.wait(restart_delay(deaths))
            else:
                times = f"This happened {deaths} times in a row, so it will only be restarted when you ask for it."
                self._say(phase="failed", error=f"{exit_reason(code)} {times}", asked="")
                self._wait_for_request()
                deaths = 0

    def _wait_for_turn(self) -> Place | None:
        """Until there is something to do, and a place to do it in; None: it is to end."""
        while self._stopping.is_set() or not (self.alone or self._has_more or self._is_wanted()):
            if self._stopping.wait(LOOKS):
                return None
        self.turns.join(self.name)
        said = 0
        while (place := self.turns.take(self.name)) is None:
            if (before := len(self.turns.before(self.name))) not in (0, said):
                self._say(phase="queued", done=before)
                said = before
            if self._stopping.wait(LOOKS):
                self.turns.leave(self.name)
                return None
        if said:
            self._say(phase="loading")
        return place

    def _is_wanted(self) -> bool:
        try:
            now = look(self.project)
            if is_wanted(self.project, self._looked):
                return True
            self._looked = self._looked or now  # what is on disk is looked through once
        except (SQLAlchemyError, OSError):
            pass  # it is asked again, and people who open the project are told
        return False

    def _rest(self) -> None:
        """It is not its turn. What failed is still told."""
        if self._standing()[0] != "failed":
            self._say(phase="resting")

    def _run(self, place: Place) -> int | None:
        """One trainer's life: its exit code, or None when it was told to end."""
        file = self.project.log
        if file.exists() and file.stat().st_size > LOG_BYTES:
            file.replace(file.with_name(f"{file.name}.1"))
        environment = {**os.environ, **self.project.environment, **place}
        with file.open("ab") as output:
            # The end of the pipe tells the trainer that this process is gone.
            # In a session of its own, it does not hear a Ctrl-C that is meant for the server.
            self.child = subprocess.Popen(
                command(self.project),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
            )
        told = False
        while True:
            if self._stopping.is_set():
                self._end(self.child)
                return None
            if self.turns.crowded and not told:
                told = True
                self._tell_that_others_wait(self.child)
            with suppress(subprocess.TimeoutExpired):
                code = self.child.wait(0.2)
                _close(self.child)
                return code

    def _tell_that_others_wait(self, child: subprocess.Popen[bytes]) -> None:
        with suppress(SQLAlchemyError):  # a trainer whose database is away leaves its place too
            self._looked = look(self.project)  # before its own last look: what comes in between is not passed over
        with suppress(OSError):  # it has just ended
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
        while not self._stopping.wait(LOOKS):
            with suppress(SQLAlchemyError), self.project.reads() as session:
                row = session.get(Trainer, 1)
                if row is not None and row.asked:
                    return

    def _standing(self) -> tuple[str, int]:
        """What the trainer last said that it did, and which round it had reached."""
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
            log.exception("The database did not take the trainer's end.")


def _close(child: subprocess.Popen[bytes]) -> None:
    if child.stdin is not None:
        child.stdin.close()
