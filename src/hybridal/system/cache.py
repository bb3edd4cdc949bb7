"""Where downloaded texts and weights are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path


def cache_dir() -> Path:
    """`HYBRIDAL_CACHE`, else where the system keeps caches: on Linux `XDG_CACHE_HOME/hybridal` or `~/.cache/hybridal`.

    It need not exist yet.

    >>> import os
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, HYBRIDAL_CACHE="somewhere"):
    ...     print(cache_dir())
    somewhere
    """
    # An empty variable counts as unset: the current folder is never meant.
    if own := os.environ.get("HYBRIDAL_CACHE"):
        return Path(own).expanduser()
    return user_cache_path("hybridal", appauthor=False)
