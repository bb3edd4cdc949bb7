"""Who writes to SQLite next."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path


class Turn:
    """One writer at a time, of this process and of others, each let in as soon as the one before is done.

    Left to themselves, SQLite's writers poll, ever more rarely, so that one of many may starve. Here those of this
    process stand in line: each holds a lock that the next one waits for. Between processes a locked file decides.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._guard = threading.Lock()
        self._last = self._mine = threading.Lock()
        self._open = -1

    def take(self) -> None:
        """Waits until nobody else has it. It ends with its process, however that ends."""
        mine = threading.Lock()
        mine.acquire()
        with self._guard:
            before, self._last = self._last, mine
        before.acquire()
        self._mine = mine
        try:
            self._open = os.open(self.file, os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(self._open, fcntl.LOCK_EX)
        except OSError:
            pass  # a folder that cannot be written, or locks nothing: SQLite tells, or lets its writers poll
        except BaseException:
            self.give()
            raise

    def give(self) -> None:
        """Lets the next one in."""
        held, self._open = self._open, -1
        if held >= 0:
            os.close(held)
        self._mine.release()
