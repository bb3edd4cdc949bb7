"""One process at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hybridal.errors import RunError


@contextmanager
def locked(file: Path, what: Path) -> Iterator[None]:
    """Holds `file` locked; a second process is told who does. The lock ends with its process, however that ends."""
    with file.open("a+") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            handle.seek(0)
            owner = handle.read().strip() or "unknown"
            raise RunError(f"{what} is in use by process {owner}; wait for it or stop it first.") from error
        handle.truncate(0)
        handle.write(str(os.getpid()))
        handle.flush()
        yield
