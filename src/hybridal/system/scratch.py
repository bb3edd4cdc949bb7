"""Temporary folders that are removed even if their process is killed."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

PREFIX = "hybridal-scratch-"
MIN_AGE = 60.0
"""Seconds after which a folder is certainly locked by the process that created it."""


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield an empty folder that is removed after the block; also remove those that killed processes left behind.

    >>> with scratch() as folder:
    ...     _ = (folder / "note").write_text("x")
    >>> folder.exists()
    False
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        # Folders in use and those of other users cannot be locked, and stay.
        with suppress(OSError):
            if folder.stat().st_mtime < time.time() - MIN_AGE:
                with _held(folder):
                    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name, ExitStack() as held:
        # On file systems without locks, the cleanup cannot lock the folder either, and keeps it.
        with suppress(OSError):
            held.enter_context(_held(Path(name)))
        yield Path(name)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Lock a folder; the system releases the lock if the process is killed."""
    if sys.platform == "win32":
        raise OSError("Windows has no locks for folders")
    import fcntl

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
