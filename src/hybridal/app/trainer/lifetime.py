"""What a trainer and the server that started it tell each other: through its input, and by its exit code."""

from __future__ import annotations

import os
import signal
import stat
import threading

STDIN = 0
YIELD_REQUEST = b"w"
NOTHING_TO_DO, MORE_TO_DO = 0, 75  # exit codes of a trainer that left its place to others


def watch_parent() -> threading.Event:
    """Set once others wait for a turn. Where the input is a pipe, its end, however that came, is this process' too."""
    others_wait = threading.Event()
    if stat.S_ISFIFO(os.fstat(STDIN).st_mode):
        threading.Thread(target=_listen, args=[others_wait], daemon=True).start()
    return others_wait


def _listen(others_wait: threading.Event) -> None:
    while os.read(STDIN, 1024):
        others_wait.set()
    os.kill(os.getpid(), signal.SIGTERM)
