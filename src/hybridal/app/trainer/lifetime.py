"""A trainer lives alone, and no longer than the process that started it."""

from __future__ import annotations

import os
import signal
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hybridal.errors import RunError
from hybridal.system.lock import locked

STDIN = 0
PAUSE = 0.5  # seconds between two tries


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Only one trainer works on a project: a second waits here until the first has ended, however that came."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(locked(folder / "trainer.lock", folder))
                break
            except RunError:
                time.sleep(PAUSE)
        yield


def end_with_parent() -> None:
    """Where the input is a pipe, the end of whoever holds its other end, however that came, is this process' too."""
    if stat.S_ISFIFO(os.fstat(STDIN).st_mode):
        threading.Thread(target=_end_at_the_end_of_input, daemon=True).start()


def _end_at_the_end_of_input() -> None:
    while os.read(STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
