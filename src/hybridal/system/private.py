"""Folders and files that other users of the machine cannot read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE

_FOLDER, _FILE = 0o700, 0o600


def make_private(paths: Iterable[Path]) -> None:
    """Set folders to 0700 and files to 0600.

    Args:
        paths: What other users must not read; what is not there is left out.

    Raises:
        OSError: The permissions cannot be changed.
    """
    for path in paths:
        with suppress(FileNotFoundError):
            os.chmod(path, _FOLDER if path.is_dir() else _FILE)


def close_to_others(paths: Iterable[Path]) -> None:
    """Make private what everybody may read; what is shared with a group was shared on purpose, and stays so.

    Args:
        paths: Folders and files of an earlier version. What belongs to another user is left as it is.
    """
    for path in paths:
        with suppress(OSError):
            if S_IMODE(path.stat().st_mode) & 0o007:
                make_private([path])
