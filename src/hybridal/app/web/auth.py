"""Who asks, and whether they may: the session cookie, its cache, the owner's link, and the least role of a route."""

from __future__ import annotations

import threading
import time
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping
from secrets import compare_digest
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.responses import Response

from hybridal.app.app_errors import ForbiddenError, SignInError
from hybridal.app.people import (
    ROLES,
    SESSION_DAYS,
    User,
    draw_token,
    may,
    token_digest,
    with_article,
)
from hybridal.app.project import Project
from hybridal.app.web.paths import link, path_of


def project_of(request: Request) -> Project:
    """The project that this app serves."""
    project: Project = request.app.state.project
    return project


def user_of(request: Request) -> User | None:
    """Who is signed in, as the middleware found out."""
    found: User | None = getattr(request.state, "user", None)
    return found


LABEL_STUDIO = "/ml/"


def shown_token(request: Request) -> str | None:
    """The token that a program shows. None: it may be a browser, whose cookie counts; Label Studio never is one."""
    path, header = path_of(request), request.headers.get("authorization", "")
    if path.startswith(LABEL_STUDIO):
        return token_of(header)
    kind, _, secret = header.partition(" ")
    return secret.strip() if path.startswith("/api/") and kind.lower() == "bearer" else None


def token_of(header: str) -> str:
    """The token of an Authorization header as Label Studio writes it: `Token …`, `Bearer …`, or the password of Basic.

    >>> token_of("Token abc"), token_of("Basic bWU6YWJj"), token_of("Basic ???"), token_of("")
    ('abc', 'abc', '', '')
    """
    kind, _, value = header.partition(" ")
    if kind.lower() in ("token", "bearer"):
        return value.strip()
    if kind.lower() != "basic":
        return ""
    try:
        return b64decode(value, validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


def at_least(role: str) -> Callable[[Request], Awaitable[User]]:
    """A dependency that lets in who may do what this role may."""

    # Not a thread's work, and so `async`: the middleware has asked the database already.
    async def let_in(request: Request) -> User:
        found = user_of(request)
        if found is None:
            raise SignInError("Sign in first.")
        if not may(found.role, role):
            raise ForbiddenError(f"Only {with_article(role)} may do this.")
        return found

    return let_in


async def _at_a_browser(request: Request) -> User:
    """A token opens no door for others: whoever found one could stay after it is withdrawn."""
    found = await _annotator(request)
    if found.token_role is not None:
        raise ForbiddenError("A token may not do this; sign in with a browser.")
    return found


async def _owner_at_a_browser(request: Request) -> User:
    await _at_a_browser(request)
    return await _owner(request)


async def _project_of(request: Request) -> Project:
    return project_of(request)  # `async`, or FastAPI would ask a thread for it


CurrentProject = Annotated[Project, Depends(_project_of)]
_annotator, _reviewer, _owner = map(at_least, ROLES)
Annotator = Annotated[User, Depends(_annotator)]
Reviewer = Annotated[User, Depends(_reviewer)]
Owner = Annotated[User, Depends(_owner)]
AtBrowser = Annotated[User, Depends(_at_a_browser)]
OwnerAtBrowser = Annotated[User, Depends(_owner_at_a_browser)]

ROLE_OF: Mapping[object, str] = {
    _annotator: "annotator",
    _reviewer: "reviewer",
    _owner: "owner",
    _at_a_browser: "browser",
    _owner_at_a_browser: "owner, browser",
}
"""For whoever describes routes: the least role by the dependency that insists on it."""


def cookie_name(project: Project) -> str:
    """Browsers send a cookie to all ports of a host: two projects on one machine need two names."""
    return f"hybridal_{project.key}"


def set_cookie(answer: Response, request: Request, project: Project, token: str) -> None:
    """For this project alone, where several are on one server."""
    keep_cookie(answer, request, cookie_name(project), token, link(request, "/"))


def keep_cookie(answer: Response, request: Request, name: str, token: str, path: str) -> None:
    """No script can read it, and no other site can make the browser send it."""
    answer.set_cookie(
        name,
        token,
        max_age=SESSION_DAYS * 86_400,
        path=path,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )


class LoginLink:
    """A token that lets somebody in, once."""

    def __init__(self) -> None:
        self.token = draw_token()
        self._kept: str | None = token_digest(self.token)
        self._lock = threading.Lock()

    def redeem(self, token: str) -> bool:
        """Whether it is this token, and nobody has come with it yet."""
        with self._lock:
            if self._kept is None or not compare_digest(token_digest(token), self._kept):
                return False
            self._kept = None
            return True


MOST_SESSIONS = 10_000


class SessionCache:
    """Visitors by their cookies or tokens. One process serves a project: whoever changes people here clears it."""

    def __init__(self, seconds: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.clock = clock
        self._known: dict[str, tuple[User, float]] = {}
        self._forgot = 0
        self._lock = threading.Lock()

    def get(self, key: str) -> User | None:
        """Who came with this a moment ago."""
        found = self._known.get(key)
        return found[0] if found is not None and found[1] > self.clock() else None

    def load(self, key: str, ask: Callable[[], User | None]) -> User | None:
        """Asks who it is, and remembers, unless people were forgotten meanwhile."""
        before = self._forgot
        found = ask()
        with self._lock:
            if found is not None and before == self._forgot:
                if len(self._known) >= MOST_SESSIONS:
                    self._known.clear()
                self._known[key] = (found, self.clock() + self.seconds)
        return found

    def clear(self) -> None:
        """From now on everybody is looked up again."""
        with self._lock:
            self._forgot += 1
            self._known.clear()


def sees_predictions(user: User, settings: Mapping[str, Any]) -> bool:
    """Whether somebody is shown what the model says: who reviews, and others where the owners let them."""
    return may(user.role, "reviewer") or bool(settings["show_predictions"])
