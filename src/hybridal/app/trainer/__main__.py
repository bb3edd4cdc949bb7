"""`python -m hybridal.app.trainer PROJECT`: trains a project's model until the process is ended."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hybridal.app.project import Project
from hybridal.app.trainer.cycle import DATABASE_ERRORS, Cycle
from hybridal.app.trainer.lifetime import MORE_TO_DO, NOTHING_TO_DO, watch_parent
from hybridal.errors import RunError
from hybridal.system.lock import locked

LOCK_PAUSE = 0.5  # seconds between two attempts


@contextmanager
def only_trainer(folder: Path) -> Iterator[None]:
    """Hold the project's trainer lock; a second trainer waits here until the first process has ended."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(locked(folder / "trainer.lock", folder))
                break
            except RunError:
                time.sleep(LOCK_PAUSE)
        yield


POLL_SECONDS = 0.25
RECONNECT_SECONDS = 5.0  # until a database that is away is tried again
MIN_TURN_SECONDS = 30.0  # before a busy trainer gives up its slot, since starting another takes seconds
log = logging.getLogger(__name__)


def main(folder: Path) -> int:
    """Work on a project until its turn is over, and return the exit code."""
    others_wait = watch_parent()
    if hasattr(os, "nice"):
        os.nice(10)  # requests of people who label come first
    project = Project.open(folder)
    with only_trainer(folder):
        _leave_a_core_free()
        while True:
            try:
                return work(Cycle(project), others_wait)
            except DATABASE_ERRORS:
                log.exception("The database is not available.")
                if others_wait.is_set():
                    return MORE_TO_DO
                time.sleep(RECONNECT_SECONDS)


def work(cycle: Cycle, others_wait: threading.Event) -> int:
    """Repeat the cycle until other projects wait and there is no work left, or the minimum turn is over."""
    begun = time.monotonic()
    cycle.start()
    cycle.prepare()  # labels may be due already, and the first model needs the learner that this loads
    while True:
        busy = cycle.turn() or cycle.explain() or cycle.prepare() or cycle.score()
        if others_wait.is_set() and not busy:
            return NOTHING_TO_DO
        if others_wait.is_set() and time.monotonic() - begun > MIN_TURN_SECONDS:
            return MORE_TO_DO
        if not busy:
            rest()


def rest() -> None:
    """Wait for new work."""
    time.sleep(POLL_SECONDS)


def _leave_a_core_free() -> None:
    """Use all cores but one, which serves the pages."""
    import torch

    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) - 1))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    sys.exit(main(Path(sys.argv[1])))
