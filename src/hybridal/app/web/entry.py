"""How the owner gets in on their own machine: by a link that works once."""

from __future__ import annotations

import threading
from secrets import compare_digest

from hybridal.app.people import logins
from hybridal.app.people.accounts import the_owner
from hybridal.app.people.tokens import digest, draw
from hybridal.app.project import Project


class Entry:
    """A token that is exchanged for a cookie, once."""

    def __init__(self) -> None:
        self.token = draw()
        self._kept: str | None = digest(self.token)
        self._lock = threading.Lock()

    def redeem(self, project: Project, token: str) -> str | None:
        """The cookie for it; None if it is another token, or was used."""
        with self._lock:
            if self._kept is None or not compare_digest(digest(token), self._kept):
                return None
            self._kept = None
        with project.sessions.begin() as session:
            return logins.sign_in(session, the_owner(session))
