"""What Linux's malloc does with memory that is free again. Elsewhere nothing is changed."""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache
from typing import Any

# Numbers of malloc's settings, and what they are set to: more than a batch needs, and the most that malloc takes.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES, LARGEST_KEPT = 2**29, 2**25
# Whoever has set one of these has a reason to.
SETTINGS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed() -> None:
    """What a batch frees stays here for the next: malloc would return it, and get it back page by page."""
    if (malloc := _malloc()) and not any(name in os.environ for name in SETTINGS):
        malloc.mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
        malloc.mallopt(M_MMAP_THRESHOLD, LARGEST_KEPT)


def give_back() -> None:
    """Returns all free memory to the system. Batches of ever other sizes leave holes that no other batch fits in."""
    if malloc := _malloc():
        malloc.malloc_trim(0)


@cache
def _malloc() -> Any:
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None
