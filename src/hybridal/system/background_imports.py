"""What a run will need is imported while torch is: most of an import is waiting for files."""

from __future__ import annotations

import atexit
import logging
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread, Timer, current_thread, main_thread
from typing import Any

_log = logging.getLogger(__name__)

# Seconds that the end of a process waits for what is still coming in. It must not wait for ever: whoever is interrupted
# in an import may leave Python's import lock taken, and then no other thread can ever end one.
MAX_WAIT = 5.0


def import_in_thread(slow: str, soon: Sequence[str]) -> None:
    """Imports a module that takes long, and others meanwhile, which are there afterwards too; nothing where it was
    imported before.

    Others that are not there, or fail, are left to whoever asks for them.
    """
    if slow in sys.modules:
        return
    ready = Event()
    _start(Thread(target=_import, args=(soon, ready), daemon=True))
    with complete_imports():
        import_module(slow)
        ready.wait()


@contextmanager
def complete_imports() -> Iterator[None]:
    """A Ctrl-C inside is heard when all is imported; a second one at once.

    In the middle of an import it may be lost: torch brings numpy in from C, and clears whatever error comes of it. Or
    it leaves Python's import lock taken, and whoever imports next waits for ever.
    """
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    heard: list[int] = []

    def hear(number: int, frame: Any) -> None:
        heard.append(number)
        if len(heard) > 1:
            signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, hear)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if heard:
            raise KeyboardInterrupt


@cache
def import_later(modules: tuple[str, ...], seconds: float = 0.0) -> None:
    """Imports what is needed at the end, while other work is done; once, however often it is asked for.

    Not while others are imported or graphs recorded: one thread of Python's works at a time, and they would wait.
    """
    timer = Timer(seconds, _import_all, [modules])
    timer.daemon = True
    _start(timer)


def _start(thread: Thread) -> None:
    thread.start()
    atexit.register(_end, thread)


def _end(thread: Thread) -> None:
    """Lets it come to an end, where it has begun."""
    if isinstance(thread, Timer):
        thread.cancel()
    thread.join(MAX_WAIT)


def _import(soon: Sequence[str], ready: Event) -> None:
    try:
        _know_triton()
        _import_all(soon)
    finally:
        ready.set()


def _import_all(modules: Sequence[str]) -> None:
    for name in modules:
        with _logged(name):
            import_module(name)


def _know_triton() -> None:
    """Triton reads all of its own files once, to tell kernels that it compiled from those of other versions."""
    if find_spec("triton") is not None and any(Path("/dev").glob("nvidia*")):
        with _logged("triton.runtime.cache"):
            import_module("triton.runtime.cache").triton_key()


@contextmanager
def _logged(module: str) -> Iterator[None]:
    """Log a failure instead of raising it: code that needs the module imports it again, and raises it there."""
    try:
        yield
    except ModuleNotFoundError:
        pass  # an optional package
    except Exception:
        _log.debug("%s could not be imported ahead of time.", module, exc_info=True)
