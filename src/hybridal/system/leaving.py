"""How a process ends that used a GPU."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """Around all that a process does. Its threads, and whoever wants to be told of the end, come first.

    Python takes a GPU's graphs and memory down one by one, which takes longer than a round; the system does it at once.
    """
    codes: list[int] = []
    atexit.register(_leave, codes)  # what is registered first is called last
    try:
        yield
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            codes.append(ended.code or 0)
        raise


def _leave(codes: list[int]) -> None:
    torch = sys.modules.get("torch")
    if not codes or torch is None or not torch.cuda.is_initialized():
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        return  # Python has a code of its own for that
    os._exit(codes[0])
