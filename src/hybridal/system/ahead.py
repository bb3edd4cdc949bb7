"""What a run will need is imported while torch is: most of an import is waiting for files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Thread


def import_beside(slow: str, others: Sequence[str]) -> None:
    """Imports a module that takes long, and others meanwhile; nothing where it was imported before.

    Others that are not there, or fail, are left to whoever asks for them.
    """
    if slow in sys.modules:
        return
    thread = Thread(target=_import, args=(others,))
    thread.start()
    try:
        import_module(slow)
    finally:
        thread.join()


def _import(modules: Sequence[str]) -> None:
    _know_triton()
    for name in modules:
        with suppress(Exception):
            import_module(name)


def _know_triton() -> None:
    """Triton reads all of its own files once, to tell kernels that it compiled from those of other versions."""
    with suppress(Exception):
        if find_spec("triton") is not None and any(Path("/dev").glob("nvidia*")):
            import_module("triton.runtime.cache").triton_key()
