"""Lock files, so that only one process works in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from hybridal.errors import RunError


class InUseError(RunError):
    """Another process has the lock."""


@contextmanager
def locked(file: Path, what: Path) -> Iterator[None]:
    """Lock `file` during the block. The system releases the lock if the process is killed.

    Raises:
        InUseError: If another process has the lock; the message names its process id.
    """
    lock = FileLock(file, blocking=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise InUseError(f"{what} is in use by {_owner(file)}; wait for it or stop it first.") from error
    try:
        # Some systems do not allow writing or reading a locked file.
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
