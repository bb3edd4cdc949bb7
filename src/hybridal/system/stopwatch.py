"""Measure seconds per phase."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager


class Stopwatch:
    """Sums the time of named phases; `synchronise` waits for the device before each reading.

    >>> watch = Stopwatch()
    >>> with watch("train"):
    ...     pass
    >>> watch.add({"train": 60.0, "test": 1.0})
    >>> [(phase, round(seconds)) for phase, seconds in watch.seconds.items()]
    [('train', 60), ('test', 1)]
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
            self.add({phase: time.perf_counter() - start})

    def add(self, seconds: Mapping[str, float]) -> None:
        """Add times that were measured elsewhere."""
        for phase, taken in seconds.items():
            self.seconds[phase] = self.seconds.get(phase, 0.0) + taken
