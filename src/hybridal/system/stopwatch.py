"""Seconds per phase."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopwatch:
    """Adds up the time of named phases; `synchronise` waits for a device before each reading.

    >>> watch = Stopwatch()
    >>> with watch("train"):
    ...     pass
    >>> list(watch.seconds)
    ['train']
    """

    def __init__(self, synchronise: Callable[[], None] = lambda: None) -> None:
        self.seconds: dict[str, float] = {}
        self._synchronise = synchronise

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        self._synchronise()
        start = time.perf_counter()
        try:
            yield
        finally:
            self._synchronise()
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - start
