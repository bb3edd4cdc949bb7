"""When to ask again, and how fast to ask at all."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST = 60.0
_LONGEST_ASKED_FOR = 300.0


def pause(attempt: int, retry_after: str | None, draw: random.Random) -> float:
    """Seconds to wait after the failed attempt 1, 2, …: doubling, shaken, and no less than the server asks for.

    >>> pause(1, "7", random.Random(0)), 1 <= pause(2, None, random.Random(0)) <= 2
    (7.0, True)
    """
    doubling = min(_LONGEST, 2.0 ** (attempt - 1)) * draw.uniform(0.5, 1)
    return max(doubling, min(_LONGEST_ASKED_FOR, _seconds(retry_after)))


def _seconds(retry_after: str | None) -> float:
    """Retry-After is a number of seconds or a date."""
    if retry_after is None:
        return 0.0
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(retry_after)
    except ValueError:
        return 0.0
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


class Pace:
    """Lets no more than so many questions a minute through, evenly spread; threads queue up."""

    def __init__(self, per_minute: float, clock: Callable[[], float], sleep: Callable[[float], object]) -> None:
        self._gap = 60 / per_minute
        self._clock = clock
        self._sleep = sleep
        self._next = clock()
        self._turn = threading.Lock()

    def wait(self) -> None:
        """Returns when the next question may be asked."""
        with self._turn:
            now = self._clock()
            mine = max(now, self._next)
            self._next = mine + self._gap
        if mine > now:
            self._sleep(mine - now)
