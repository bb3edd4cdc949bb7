"""Waiting with a limit."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    """Poll until `holds()` is true, and fail after `seconds`.

    The limit is far above what a busy machine takes: it only ends a test that would hang.
    """
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"Nothing happened within {seconds:.0f} seconds.")
        time.sleep(0.005)
