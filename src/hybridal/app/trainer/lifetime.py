"""How a trainer and the server that started it communicate: by the trainer's stdin and its exit code."""

from __future__ import annotations

import os
import signal
import stat
import threading

STDIN = 0
YIELD_REQUEST = b"w"
NOTHING_TO_DO, MORE_TO_DO = 0, 75  # exit codes of a trainer that gave up its slot


def watch_parent() -> threading.Event:
    """Return an event that is set when other projects wait for the slot; exit when the parent closes our stdin."""
    others_wait = threading.Event()
    if stat.S_ISFIFO(os.fstat(STDIN).st_mode):
        threading.Thread(target=_listen, args=[others_wait], daemon=True).start()
    return others_wait


def _listen(others_wait: threading.Event) -> None:
    while os.read(STDIN, 1024):
        others_wait.set()
    os.kill(os.getpid(), signal.SIGTERM)
