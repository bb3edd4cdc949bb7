"""Exchange two paths in one step, so that a reader or a crash never finds one of them missing."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_AT_FDCWD = -100  # paths are relative to the working folder
_RENAME_EXCHANGE = 2  # Linux
_RENAME_SWAP = 2  # macOS


def exchange(one: Path, other: Path) -> bool:
    """Exchange two paths on the same file system.

    Args:
        one: An existing file or folder.
        other: Another one.

    Returns:
        Whether they were exchanged; False also where the system or the file system cannot do it.

    Example:
        >>> exchange(Path("/nowhere/new"), Path("/nowhere/old"))
        False
    """
    if sys.platform == "win32":
        return False
    library, first, second = ctypes.CDLL(None), os.fsencode(one), os.fsencode(other)
    if hasattr(library, "renameat2"):
        return bool(library.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _RENAME_EXCHANGE) == 0)
    if hasattr(library, "renamex_np"):
        return bool(library.renamex_np(first, second, _RENAME_SWAP) == 0)
    return False
