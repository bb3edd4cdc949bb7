"""What a run will need is imported while torch is: most of an import is waiting for files."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread

# Seconds that the end of a process waits for what is still coming in. It must not wait for ever: whoever is interrupted
# in an import may leave Python's import lock taken, and then no other thread can ever end one.
PATIENCE = 5.0


def import_beside(slow: str, soon: Sequence[str], later: Sequence[str] = ()) -> None:
    """Imports a module that takes long, and others meanwhile; nothing where it was imported before.

    What is needed `soon` is there afterwards; what is needed `later` goes on coming in while other work is done. Others
    that are not there, or fail, are left to whoever asks for them.
    """
    if slow in sys.modules:
        return
    ready = Event()
    thread = Thread(target=_import, args=(soon, ready, later), daemon=True)
    thread.start()
    atexit.register(thread.join, PATIENCE)
    import_module(slow)
    ready.wait()


def _import(soon: Sequence[str], ready: Event, later: Sequence[str]) -> None:
    try:
        _know_triton()
        _import_all(soon)
    finally:
        ready.set()
    _import_all(later)


def _import_all(modules: Sequence[str]) -> None:
    for name in modules:
        with suppress(Exception):
            import_module(name)


def _know_triton() -> None:
    """Triton reads all of its own files once, to tell kernels that it compiled from those of other versions."""
    with suppress(Exception):
        if find_spec("triton") is not None and any(Path("/dev").glob("nvidia*")):
            import_module("triton.runtime.cache").triton_key()
