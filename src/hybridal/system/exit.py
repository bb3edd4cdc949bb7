"""End a process: quickly after using a GPU, and with one sentence on Ctrl-C or SIGTERM."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

SHOW_CURSOR = "\x1b[?25h"  # for a terminal on which progress is shown


@contextmanager
def fast_exit() -> Iterator[None]:
    """Skip Python's cleanup at the end of the block if a GPU was used.

    Python frees CUDA graphs and memory one by one, which takes longer than a round; the system frees them immediately.
    Threads and `atexit` functions still finish first.
    """
    codes: list[int] = []
    atexit.register(_leave, codes)  # registered first, called last
    try:
        yield
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            codes.append(ended.code or 0)
        raise


def _leave(codes: list[int]) -> None:
    torch = sys.modules.get("torch")
    if not codes or torch is None or not torch.cuda.is_initialized():
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        return  # Python exits with its own code for that
    os._exit(codes[0])


@contextmanager
def exit_on_ctrl_c(sentence: str) -> Iterator[None]:
    """End the process with a sentence on Ctrl-C; for imports, which need no cleanup.

    KeyboardInterrupt would print a traceback, and is lost in the callbacks of Python's import locks.
    """

    def leave(*_: object) -> NoReturn:
        os.write(2, (SHOW_CURSOR if os.isatty(2) else "").encode() + sentence.encode())
        os._exit(130)

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # a background job, or a program with its own handler
        return
    signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Terminated(KeyboardInterrupt):
    """SIGTERM, handled like Ctrl-C but with its own exit code."""

    exit_code = 128 + signal.SIGTERM


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Raise `Terminated` on SIGTERM, which schedulers, `docker stop` and `kill` send, so that cleanup is as for Ctrl-C.

    An existing handler is kept. Only the main thread can set one, so other threads do nothing.
    """
    own = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not own:
        yield
        return

    def interrupt(*_: object) -> NoReturn:
        raise Terminated

    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
