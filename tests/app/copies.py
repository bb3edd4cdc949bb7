"""Projects that are made once and then copied: a test of something else need not wait for their making."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path

from hybridal.app.project import Project


def copied(make: Callable[[Path], Project], folder: Path) -> Project:
    """What `make` makes, in this folder."""
    shutil.copytree(_made(make), folder)
    return Project.open(folder)


_FOLDER = tempfile.TemporaryDirectory(prefix="hybridal-copies-")
_numbers = count()


@cache
def _made(make: Callable[[Path], Project]) -> Path:
    folder = Path(_FOLDER.name) / str(next(_numbers))
    make(folder).close()
    return folder
