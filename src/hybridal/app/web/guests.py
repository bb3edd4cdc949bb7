"""Who is signed in, remembered for a moment: not every request asks the database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from hybridal.app.people.logins import Visitor

MOST = 10_000


class Guests:
    """Visitors by their cookies. One process serves a project, so whoever changes people here makes it forget them."""

    def __init__(self, seconds: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.clock = clock
        self._known: dict[str, tuple[Visitor, float]] = {}
        self._forgot = 0
        self._lock = threading.Lock()

    def recall(self, cookie: str) -> Visitor | None:
        """Who came with this cookie a moment ago."""
        found = self._known.get(cookie)
        return found[0] if found is not None and found[1] > self.clock() else None

    def learn(self, cookie: str, ask: Callable[[str], Visitor | None]) -> Visitor | None:
        """Asks who it is, and remembers, unless people were forgotten meanwhile."""
        before = self._forgot
        found = ask(cookie)
        with self._lock:
            if found is not None and before == self._forgot:
                if len(self._known) >= MOST:
                    self._known.clear()
                self._known[cookie] = (found, self.clock() + self.seconds)
        return found

    def forget(self) -> None:
        """From now on everybody is looked up again."""
        with self._lock:
            self._forgot += 1
            self._known.clear()
