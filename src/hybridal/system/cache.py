"""The cache folder for downloaded texts and weights."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path


def cache_dir() -> Path:
    """Return `HYBRIDAL_CACHE`, else the cache folder of the system, on Linux `~/.cache/hybridal`; it may not exist yet.

    >>> import os
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, HYBRIDAL_CACHE="somewhere"):
    ...     print(cache_dir())
    somewhere
    """
    # An empty variable counts as unset, not as the current folder.
    if own := os.environ.get("HYBRIDAL_CACHE"):
        return Path(own).expanduser()
    return user_cache_path("hybridal", appauthor=False)
