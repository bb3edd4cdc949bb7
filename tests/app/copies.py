"""Projects that are made once and then copied, which is faster than making them for each test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from hybridal.app.project import Project


def copied(make: Callable[..., Project], folder: Path, **options: Any) -> Project:
    """Return the project of `make` with these options, in this folder."""
    key = (make, repr(options))
    if key not in _made:
        place = Path(_FOLDER.name) / str(next(_numbers))
        make(place, **options).close()
        _made[key] = place
    shutil.copytree(_made[key], folder)
    return Project.open(folder)


_FOLDER = tempfile.TemporaryDirectory(prefix="hybridal-copies-")
_numbers = count()
_made: dict[tuple[Callable[..., Project], str], Path] = {}
