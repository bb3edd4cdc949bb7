"""Import modules in background threads: most of the time of an import is waiting for files."""

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

from hybridal.system.exit import exit_on_ctrl_c

_log = logging.getLogger(__name__)

# What a program prints if Ctrl-C ends it during an import; None in a library, which must not end the process.
_last_sentence: str | None = None
# Seconds that the process waits at exit for running imports. The wait needs a limit: an interrupted import may leave
# Python's import lock taken, and then no other thread can finish one.
MAX_WAIT = 5.0


def import_in_thread(slow: str, soon: Sequence[str]) -> None:
    """Import a slow module, and others in a thread meanwhile; do nothing if the slow one is imported already.

    Others that are missing or fail raise their error where they are imported again.

    Args:
        slow: Imported in this thread.
        soon: Imported in the other thread; complete on return.
    """
    if slow in sys.modules:
        return
    ready = Event()
    _start(Thread(target=_import, args=(soon, ready), daemon=True))
    with complete_imports():
        import_module(slow)
        ready.wait()


def exit_during_imports(sentence: str) -> None:
    """Let Ctrl-C end this process at once while `complete_imports` waits; for programs that may be killed at any time.

    Args:
        sentence: What it prints then.
    """
    global _last_sentence
    _last_sentence = sentence


@contextmanager
def complete_imports() -> Iterator[None]:
    """Delay Ctrl-C until the imports of the block are complete; a second one interrupts immediately.

    During an import, KeyboardInterrupt may be lost: torch imports numpy from C and clears errors. Or it leaves Python's
    import lock taken, so that the next import waits forever. After `exit_during_imports` the first Ctrl-C ends the
    process, which needs neither.
    """
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    if _last_sentence is not None:
        with exit_on_ctrl_c(_last_sentence):
            yield
        return
    received: list[int] = []

    def receive(number: int, frame: Any) -> None:
        received.append(number)
        if len(received) > 1:
            signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, receive)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if received:
            raise KeyboardInterrupt


@cache
def import_later(modules: tuple[str, ...], seconds: float = 0.0) -> None:
    """Import modules in the background after a delay; repeated calls have no effect.

    The delay keeps the imports out of the start of a run: they would hold the GIL while other modules are imported or
    CUDA graphs are recorded.
    """
    timer = Timer(seconds, _import_all, [modules])
    timer.daemon = True
    _start(timer)


def _start(thread: Thread) -> None:
    thread.start()
    atexit.register(_end, thread)


def _end(thread: Thread) -> None:
    """Wait for a thread that has started."""
    if isinstance(thread, Timer):
        thread.cancel()
    thread.join(MAX_WAIT)


def _import(soon: Sequence[str], ready: Event) -> None:
    try:
        _load_triton_key()
        _import_all(soon)
    finally:
        ready.set()


def _import_all(modules: Sequence[str]) -> None:
    for name in modules:
        with _logged(name):
            import_module(name)


def _load_triton_key() -> None:
    """Compute Triton's cache key now, which reads all of its files."""
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
