"""Authentication and authorisation: session cookies and their cache, the login link, and the lowest role of a route."""

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
)
from hybridal.app.project import Project
from hybridal.app.web.paths import link, path_of
from hybridal.sentences import translatable


def project_of(request: Request) -> Project:
    """The project that this app serves."""
    project: Project = request.app.state.project
    return project


def user_of(request: Request) -> User | None:
    """The signed-in user, which the middleware has looked up."""
    found: User | None = getattr(request.state, "user", None)
    return found


LABEL_STUDIO_PREFIX = "/ml/"


def request_token(request: Request) -> str | None:
    """The API token of a request; None if its cookie counts instead. Label Studio's routes accept only tokens."""
    path, header = path_of(request), request.headers.get("authorization", "")
    if path.startswith(LABEL_STUDIO_PREFIX):
        return label_studio_token(header)
    kind, _, secret = header.partition(" ")
    return secret.strip() if path.startswith("/api/") and kind.lower() == "bearer" else None


def label_studio_token(header: str) -> str:
    """The token of an Authorization header as Label Studio writes it: `Token …`, `Bearer …`, or the password of Basic.

    >>> read = label_studio_token
    >>> read("Token abc"), read("Basic bWU6YWJj"), read("Basic ???"), read("")
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


_ONLY = {
    "annotator": translatable("Only an annotator may do this."),
    "reviewer": translatable("Only a reviewer may do this."),
    "owner": translatable("Only an owner may do this."),
}


def require_role(role: str) -> Callable[[Request], Awaitable[User]]:
    """A FastAPI dependency that raises unless the user has at least this role."""

    # `async`, so that FastAPI does not start a thread: the middleware has already read the user from the database.
    async def check(request: Request) -> User:
        found = user_of(request)
        if found is None:
            raise SignInError(translatable("Sign in first."))
        if not may(found.role, role):
            raise ForbiddenError(_ONLY[role])
        return found

    return check


async def _browser_user(request: Request) -> User:
    """Refuse tokens: a stolen token must not create access that remains after it is withdrawn."""
    found = await _annotator(request)
    if found.token_role is not None:
        raise ForbiddenError(translatable("A token may not do this; sign in with a browser."))
    return found


async def _browser_owner(request: Request) -> User:
    await _browser_user(request)
    return await _owner(request)


async def _project_of(request: Request) -> Project:
    return project_of(request)  # `async`, so that FastAPI does not start a thread for it


CurrentProject = Annotated[Project, Depends(_project_of)]
_annotator, _reviewer, _owner = map(require_role, ROLES)
Annotator = Annotated[User, Depends(_annotator)]
Reviewer = Annotated[User, Depends(_reviewer)]
Owner = Annotated[User, Depends(_owner)]
BrowserUser = Annotated[User, Depends(_browser_user)]
BrowserOwner = Annotated[User, Depends(_browser_owner)]

ROLE_OF: Mapping[object, str] = {
    _annotator: "annotator",
    _reviewer: "reviewer",
    _owner: "owner",
    _browser_user: "browser",
    _browser_owner: "owner, browser",
}
"""The role of each dependency, for the OpenAPI document."""


def cookie_name(project: Project) -> str:
    """The cookie's name contains the project's key: browsers send a cookie to all ports of a host."""
    return f"hybridal_{project.key}"


def set_project_cookie(answer: Response, request: Request, project: Project, token: str) -> None:
    """Set the session cookie of one project; browsers send it only below the project's path."""
    set_session_cookie(answer, request, cookie_name(project), token, link(request, "/"))


def set_session_cookie(answer: Response, request: Request, name: str, token: str, path: str) -> None:
    """Set a cookie that scripts cannot read and that browsers do not send with requests from other sites."""
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
    """A sign-in token that works once."""

    def __init__(self) -> None:
        self.token = draw_token()
        self._digest: str | None = token_digest(self.token)
        self._lock = threading.Lock()

    def redeem(self, token: str) -> bool:
        """Return whether this is the token and it has not been used yet, and mark it as used."""
        with self._lock:
            if self._digest is None or not compare_digest(token_digest(token), self._digest):
                return False
            self._digest = None
            return True


MAX_CACHED_USERS = 10_000


class SessionCache:
    """Users by their cookie or token, cached for a few seconds.

    Code that changes people must call `clear`. One process serves a project, so no other cache can be stale.
    """

    def __init__(self, seconds: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self.clock = clock
        self._users: dict[str, tuple[User, float]] = {}  # with the time until which they are valid
        self._clears = 0
        self._lock = threading.Lock()

    def get(self, key: str) -> User | None:
        """The cached user of a cookie or token."""
        found = self._users.get(key)
        return found[0] if found is not None and found[1] > self.clock() else None

    def load(self, key: str, find: Callable[[], User | None]) -> User | None:
        """Look the user up and cache the result, unless the cache was cleared meanwhile."""
        before = self._clears
        found = find()
        with self._lock:
            if found is not None and before == self._clears:
                if len(self._users) >= MAX_CACHED_USERS:
                    self._users.clear()
                self._users[key] = (found, self.clock() + self.seconds)
        return found

    def clear(self) -> None:
        """Forget all users, so that the next request of each is looked up again."""
        with self._lock:
            self._clears += 1
            self._users.clear()


def sees_predictions(user: User, settings: Mapping[str, Any]) -> bool:
    """Whether a user may see predictions: reviewers always, annotators if the setting allows it."""
    return may(user.role, "reviewer") or bool(settings["show_predictions"])
