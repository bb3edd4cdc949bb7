"""How a process ends: one that used a GPU, and one that is stopped before it has begun."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def fast_exit() -> Iterator[None]:
    """Around all that a process does. Its threads, and whoever wants to be told of the end, come first.

    Python takes a GPU's graphs and memory down one by one, which takes longer than a round; the system does it at once.
    """
    codes: list[int] = []
    atexit.register(_leave, codes)  # what is registered first is called last
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
        return  # Python has a code of its own for that
    os._exit(codes[0])


@contextmanager
def exit_on_ctrl_c(sentence: str) -> Iterator[None]:
    """Around imports, of which nothing has to be put in order: Ctrl-C says the sentence and ends the process.

    An exception would show where it came from, and is lost where Python imports: in the callbacks of its locks.
    """

    def leave(*_: object) -> NoReturn:
        os.write(2, sentence.encode())
        os._exit(130)

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # a shell's background, or a program that has an answer of its own
        return
    signal.signal(signal.SIGINT, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class Terminated(KeyboardInterrupt):
    """SIGTERM, answered like Ctrl-C; the shell's exit code for it is another one."""

    exit_code = 128 + signal.SIGTERM


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Inside, SIGTERM raises `Terminated`, so that what Ctrl-C puts in order and says is put in order and said.

    A scheduler, `docker stop` and `kill` send it. Handlers that are set already stay, and so do threads' own rules:
    Python lets only the main thread set one.
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
