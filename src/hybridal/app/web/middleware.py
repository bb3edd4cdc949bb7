"""Middleware before all routes: rate limits, security headers, sessions, CSRF tokens and the size of bodies."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Hashable
from contextlib import suppress
from functools import partial
from secrets import compare_digest

from fastapi import Request
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybridal.app.api_tokens import find_token, note_use
from hybridal.app.app_errors import ForbiddenError, SignInError, TooLargeError, TooOftenError
from hybridal.app.people import (
    CREATOR,
    User,
    add_newcomer,
    checked_name,
    draw_token,
    find_newcomer,
    find_session,
    project_owner,
    sign_in,
    token_digest,
)
from hybridal.app.project import Project
from hybridal.app.web.auth import LoginLink, SessionCache, cookie_name, project_of, set_cookie, shown_token
from hybridal.app.web.error_responses import error_response
from hybridal.app.web.paths import link, path_of
from hybridal.app.web.project_threads import in_thread
from hybridal.app.web.proxy import signed_in_as
from hybridal.app.web.uploads import FILE_TOO_LARGE, LARGEST_FILE
from hybridal.errors import UserError


class RateLimiter:
    """At most so many times in so many seconds for each key; a key gains its turns back evenly.

    >>> limit = RateLimiter(2, 60.0, clock=lambda: 0.0)
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


SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class SecurityHeaders:
    """Adds them to whatever the app inside answers; answers are not kept by anybody unless they say so."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


PUBLIC = {"/api/login", "/api/join"}
HERE = {"localhost", "127.0.0.1", "::1", "[::1]"}
LARGEST_BODY = 1_000_000  # of a form: without its file


class AccessMiddleware:
    """Nothing under /api is reached, and no body read, before it is known who asks: a route cannot forget it."""

    def __init__(
        self, app: ASGIApp, login_link: LoginLink | None, limit: RateLimiter, uploads: Collection[str] = ()
    ) -> None:
        self.app = app
        self.login_link = login_link
        self.limit = limit
        self.uploads = uploads  # paths whose body may hold a file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        request = Request(scope)
        try:
            if answer := await self._greet(request):
                await answer(scope, receive, sending)
            else:
                is_upload = path_of(request) in self.uploads
                await self.app(scope, limited_body(request, receive, is_upload), sending)
        except Exception as error:
            if started:
                raise
            await error_response(error, request)(scope, receive, sending)
        return None

    async def _greet(self, request: Request) -> Response | None:
        """Refuses, answers in place of the app, or lets the request in with its user."""
        path = path_of(request)
        if request.app.state.local and request.url.hostname not in HERE:
            raise UserError("This app only accepts requests to localhost; open the address that it printed.")
        if path.startswith("/static/"):
            return None
        found = await self.who(request)
        request.state.user = found
        if path == "/" and self.login_link is not None and (token := request.query_params.get("token")):
            return await in_thread(self._enter, request, self.login_link, token)
        self.limit.insist(found.login if found else (request.client.host if request.client else ""))
        if path.startswith("/api/") and path not in PUBLIC:
            _check(request, found)
        return None

    def _enter(self, request: Request, login_link: LoginLink, token: str) -> Response:
        """The link that was printed lets in who started the app, once; then the token leaves the address bar."""
        answer = RedirectResponse(link(request, "/"), 303)
        if login_link.redeem(token):
            self.admit(request, answer)
        return answer

    async def who(self, request: Request) -> User | None:
        """Who asks."""
        return await _who(request, cookie_name(project_of(request)))

    def admit(self, request: Request, answer: Response) -> None:
        """Lets the owner in."""
        project = project_of(request)
        with project.sessions.begin() as session:
            set_cookie(answer, request, project, sign_in(session, project_owner(session)))


async def _who(request: Request, cookie_name: str) -> User | None:
    """Who asks: by their program's token or, only where none is shown, by their browser's cookie.

    Where a proxy signs people in, what it says takes the place of the cookie.

    A token that is wrong never falls back on a cookie. A browser sends cookies by itself, but no token: requests with a
    token are therefore exempt from CSRF checks.
    """
    sessions: SessionCache = request.app.state.sessions
    if (secret := shown_token(request)) is not None:
        key, ask = f"token {secret}", partial(_ask_for_token, project_of(request), secret)
    elif (name := signed_in_as(request)) is not None:
        operator: bool | None = getattr(request.state, "operator", None)
        key, ask = f"proxy {name}", partial(_ask_for_name, project_of(request), name, operator)
    elif cookie := request.cookies.get(cookie_name):
        key, ask = f"cookie {cookie}", partial(_ask_for_cookie, project_of(request), cookie)
    else:
        return None
    return sessions.get(key) or await in_thread(sessions.load, key, ask)


def _ask_for_cookie(project: Project, cookie: str) -> User | None:
    with project.reads() as session:
        return find_session(session, cookie)


_SECRET = draw_token()


def _ask_for_name(project: Project, name: str, operator: bool | None) -> User | None:
    """Whom a proxy signed in. Their CSRF token is valid for as long as this process lives.

    Where there are several projects, the `operator` acts as the owner of each; None: there is one project alone.
    """
    if not name:
        return None
    name = checked_name(name)
    if operator is False and name == CREATOR:
        raise ForbiddenError(f"'{name}' is what projects call their owners here; sign in under another name.")
    with project.reads() as session:
        person = project_owner(session) if operator else find_newcomer(session, name)
    if person is None:
        with project.sessions.begin() as session:
            person = add_newcomer(session, name)
    return User(person, token_digest(f"{_SECRET} {name}"), f"proxy {person.number}", by_proxy=True)


def _ask_for_token(project: Project, secret: str) -> User | None:
    with project.reads() as session:
        found = find_token(session, secret)
    if found is None:
        return None
    user, unnoted = found
    if unnoted:
        # Not worth refusing a program for, if the disk is full.
        with suppress(SQLAlchemyError), project.sessions.begin() as session:
            note_use(session, secret)
    return user


def _check(request: Request, found: User | None) -> None:
    if found is None:
        shown = shown_token(request) is not None
        raise SignInError("This token is not valid for this project." if shown else "Sign in first.")
    if found.token_role is not None:
        return
    sent = request.headers.get("x-csrf-token", "")
    if request.method not in ("GET", "HEAD") and not compare_digest(sent.encode(), found.csrf_token.encode()):
        raise ForbiddenError("This page is out of date; reload it.")


def limited_body(request: Request, receive: Receive, is_upload: bool) -> Receive:
    """Refuse a body that is announced as too large, and stop reading one that turns out to be."""
    largest, sentence = LARGEST_BODY, "The request is too large; the limit is 1 MB."
    if is_upload:
        largest, sentence = LARGEST_FILE + LARGEST_BODY, FILE_TOO_LARGE
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > largest:
        raise TooLargeError(sentence)
    read = 0

    async def counting() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > largest:
            raise HTTPException(413, sentence)
        return message

    return counting
