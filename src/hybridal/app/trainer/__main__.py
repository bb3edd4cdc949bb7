"""`python -m hybridal.app.trainer PROJECT`: trains a project's model until it is ended."""

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

LOCK_PAUSE = 0.5  # seconds between two tries


@contextmanager
def only_trainer(folder: Path) -> Iterator[None]:
    """Only one trainer works on a project: a second waits here until the first has ended, however that came."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(locked(folder / "trainer.lock", folder))
                break
            except RunError:
                time.sleep(LOCK_PAUSE)
        yield


PAUSE = 0.25  # seconds between two looks
LATER = 5.0  # seconds until a database that is away is asked again
TURN = 30.0  # seconds that a turn lasts at least, while there is something to do: to begin one takes some
log = logging.getLogger(__name__)


def main(folder: Path) -> int:
    """Works on a project until its turn is over; the exit code."""
    others_wait = watch_parent()
    if hasattr(os, "nice"):
        os.nice(10)  # people who label come first
    project = Project.open(folder)
    with only_trainer(folder):
        _share_the_machine()
        while True:
            try:
                return work(Cycle(project), others_wait)
            except DATABASE_ERRORS:
                log.exception("The database is not available.")
                if others_wait.is_set():
                    return MORE_TO_DO
                time.sleep(LATER)


def work(cycle: Cycle, others_wait: threading.Event) -> int:
    """Turns and turns until others wait, and there is nothing to do or it has had its time."""
    begun = time.monotonic()
    cycle.start()
    cycle.prepare()  # labels may be due already: their first model needs what is loaded here
    while True:
        busy = cycle.turn() or cycle.prepare() or cycle.score()
        if others_wait.is_set() and not busy:
            return NOTHING_TO_DO
        if others_wait.is_set() and time.monotonic() - begun > TURN:
            return MORE_TO_DO
        if not busy:
            rest()


def rest() -> None:
    """There is nothing to do just now."""
    time.sleep(PAUSE)


def _share_the_machine() -> None:
    """One core stays free for the pages, where there is more than one."""
    import torch

    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) - 1))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    sys.exit(main(Path(sys.argv[1])))
