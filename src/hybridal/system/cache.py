"""Where downloaded texts and weights are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """`HYBRIDAL_CACHE`, else `XDG_CACHE_HOME/hybridal`, else `~/.cache/hybridal`; it need not exist yet.

    >>> import os
    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, HYBRIDAL_CACHE="somewhere"):
    ...     print(cache_dir())
    somewhere
    """
    # An empty variable counts as unset: the current folder is never meant.
    if own := os.environ.get("HYBRIDAL_CACHE"):
        return Path(own).expanduser()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared).expanduser() / "hybridal"
    return Path.home() / ".cache" / "hybridal"
