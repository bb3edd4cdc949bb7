"""Folders for a while, which go away even if their process is killed."""

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
"""Seconds in which a folder may have been made and not be locked yet."""


@contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder that is gone when the block ends; what killed processes left behind goes when it begins.

    >>> with scratch() as folder:
    ...     _ = (folder / "note").write_text("x")
    >>> folder.exists()
    False
    """
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        # One that is in use, or somebody else's, stays.
        with suppress(OSError):
            if folder.stat().st_mtime < time.time() - MIN_AGE:
                with _held(folder):
                    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name, ExitStack() as held:
        # A file system that knows no locks gives none to whoever clears away either.
        with suppress(OSError):
            held.enter_context(_held(Path(name)))
        yield Path(name)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Holds a folder locked; the lock ends with its process, however that ends."""
    if sys.platform == "win32":
        raise OSError("Windows has no locks for folders")
    import fcntl

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)
