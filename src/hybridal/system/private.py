"""Folders and files that other users of the machine cannot read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE

from hybridal.errors import UserError

_FOLDER, _FILE = 0o700, 0o600


def make_private(paths: Iterable[Path]) -> None:
    """Set folders to 0700 and files to 0600.

    Args:
        paths: Folders and files; missing ones are skipped.

    Raises:
        OSError: The permissions cannot be changed.
    """
    for path in paths:
        with suppress(FileNotFoundError):
            os.chmod(path, _FOLDER if path.is_dir() else _FILE)


def create_private(folder: Path) -> None:
    """Create a folder, and those above it, that only its user can read; an existing one is kept as it is.

    Raises:
        UserError: The folder cannot be created, or is a file.
    """
    try:
        folder.mkdir(_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"The folder {folder} cannot be created ({error.strerror}); name another.") from error


def close_to_others(paths: Iterable[Path]) -> None:
    """Make world-readable paths private; keep those that are shared with a group only.

    Args:
        paths: Folders and files of an earlier version. Those of another user are kept as they are.
    """
    for path in paths:
        with suppress(OSError):
            if S_IMODE(path.stat().st_mode) & 0o007:
                make_private([path])
