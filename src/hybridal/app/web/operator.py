"""The operator of a server with several projects, who signs in with a link, a password or at a proxy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response

from hybridal.app.app_errors import SignInError
from hybridal.app.db.schema import Person
from hybridal.app.people import SESSION_DAYS, User, draw_token, hash_password, token_digest, verify_password
from hybridal.app.web.auth import set_session_cookie, user_of
from hybridal.app.web.middleware import AccessMiddleware
from hybridal.app.web.proxy import signed_in_as
from hybridal.sentences import translatable

MAX_SESSIONS = 100


class Operator:
    """The operator's password, if any, and sessions, which are kept in memory: restarting the server ends all.

    A session ends with its cookie, or when `MAX_SESSIONS` newer ones have begun. Behind a proxy that signs people in,
    only the person with the operator's `name` is the operator, and there are no sessions.
    """

    def __init__(
        self, password: str | None = None, name: str | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.password = None if password is None else hash_password(password)
        self.named = None if name is None else (name, User(_person(name), draw_token(), "proxy", by_proxy=True))
        self.cookie = f"hybridal_server_{draw_token()[:8]}"
        self._clock = clock
        self._sessions: dict[str, tuple[User, float]] = {}  # oldest first
        self._changing = threading.Lock()

    def verify_password(self, password: str) -> bool:
        """Whether the password is right; slow on purpose."""
        return verify_password(password, self.password)

    def start_session(self, request: Request, answer: Response) -> None:
        """Sign a browser in."""
        token = draw_token()
        login = token_digest(token)
        user, now = User(_person("operator", self.password), draw_token(), login), self._clock()
        with self._changing:
            good = [(login, kept) for login, kept in self._sessions.items() if kept[1] > now]
            self._sessions = dict(good[-(MAX_SESSIONS - 1) :])
            self._sessions[login] = (user, now + SESSION_DAYS * 86_400)
        set_session_cookie(answer, request, self.cookie, token, "/")

    def find(self, request: Request) -> User | None:
        """The operator, if the request is theirs."""
        if self.named is not None:
            name, user = self.named
            return user if signed_in_as(request) == name else None
        cookie = request.cookies.get(self.cookie)
        found = None if cookie is None else self._sessions.get(token_digest(cookie))
        return found[0] if found is not None and found[1] > self._clock() else None

    def sign_out(self, user: User) -> None:
        """End the session of a browser."""
        with self._changing:
            self._sessions.pop(user.login, None)


def _person(name: str, password: str | None = None) -> Person:
    return Person(name=name, role="owner", password=password)


class OperatorMiddleware(AccessMiddleware):
    """Access to the start page and its API, for the operator only."""

    async def find_user(self, request: Request) -> User | None:
        operator: Operator = request.app.state.operator
        return operator.find(request)

    def start_session(self, request: Request, answer: Response) -> None:
        operator: Operator = request.app.state.operator
        operator.start_session(request, answer)


async def require_operator(request: Request) -> User:
    """A FastAPI dependency that raises unless the operator is signed in."""
    found = user_of(request)
    if found is None:
        raise SignInError(translatable("Sign in first."))
    return found


AsOperator = Annotated[User, Depends(require_operator)]
