"""`python -m hybridal.app.trainer PROJECT`: trains a project's model until it is ended."""

from __future__ import annotations

import logging
import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hybridal.app.project import Project
from hybridal.app.trainer.cycle import AWAY, Cycle
from hybridal.errors import RunError
from hybridal.system.lock import locked

STDIN = 0
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


def end_with_parent() -> None:
    """Where the input is a pipe, the end of whoever holds its other end, however that came, is this process' too."""
    if stat.S_ISFIFO(os.fstat(STDIN).st_mode):
        threading.Thread(target=_end_at_the_end_of_input, daemon=True).start()


def _end_at_the_end_of_input() -> None:
    while os.read(STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


PAUSE = 0.25  # seconds between two looks
LATER = 5.0  # seconds until a database that is away is asked again
log = logging.getLogger(__name__)


def main(folder: Path) -> None:
    """Works on a project for as long as the process lives."""
    end_with_parent()
    if hasattr(os, "nice"):
        os.nice(10)  # people who label come first
    project = Project.open(folder)
    with only_trainer(folder):
        _share_the_machine()
        while True:
            try:
                work(Cycle(project))
            except AWAY:
                log.exception("The database is not available.")
                time.sleep(LATER)


def work(cycle: Cycle) -> None:
    """Turns and turns; only an error ends it."""
    cycle.start()
    cycle.prepare()  # labels may be due already: their first model needs what is loaded here
    while True:
        if not cycle.turn() and not cycle.prepare():
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
    main(Path(sys.argv[1]))
