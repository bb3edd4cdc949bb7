"""How often somebody may ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable

from hybridal.app.errors import TooOftenError


class Limit:
    """At most so many times in so many seconds for each key; a key gains its turns back evenly.

    >>> limit = Limit(2, 60.0, clock=lambda: 0.0)
    >>> limit.count("ada"), limit.count("ada"), limit.count("bob")
    (True, True, True)
    >>> limit.count("ada")
    False
    """

    def __init__(self, times: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.times = times
        self.rate = times / seconds
        self.clock = clock
        self._left: dict[Hashable, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def count(self, key: Hashable) -> bool:
        """Takes one turn; False if none is left."""
        with self._lock:
            time = self.clock()
            left, since = self._left.get(key, (float(self.times), time))
            left = min(self.times, left + (time - since) * self.rate)
            self._left[key] = (max(0.0, left - 1), time) if left >= 1 else (left, time)
            if len(self._left) > 10_000:
                self._forget(time)
            return left >= 1

    def insist(self, key: Hashable) -> None:
        """Takes one turn, or refuses."""
        if not self.count(key):
            raise TooOftenError("Too many requests; wait a moment and try again.")

    def _forget(self, time: float) -> None:
        """Drops keys that have all their turns again."""
        full = [key for key, (left, since) in self._left.items() if left + (time - since) * self.rate >= self.times]
        for key in full:
            del self._left[key]
