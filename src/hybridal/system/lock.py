"""One process at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from hybridal.errors import RunError


class InUseError(RunError):
    """Another process works there."""


@contextmanager
def locked(file: Path, what: Path) -> Iterator[None]:
    """Holds `file` locked; a second process is told who does. The lock ends with its process, however that ends."""
    lock = FileLock(file, blocking=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise InUseError(f"{what} is in use by {_owner(file)}; wait for it or stop it first.") from error
    try:
        # A file that is locked cannot be written and read by others on every system.
        with suppress(OSError):
            file.write_text(str(os.getpid()))
        yield
    finally:
        lock.release()


def _owner(file: Path) -> str:
    owner = ""
    with suppress(OSError):
        owner = file.read_text().strip()
    return f"process {owner}" if owner else "another process"
