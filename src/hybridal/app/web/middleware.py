"""Middleware before all routes: rate limits, security headers, sessions, CSRF tokens and the size of bodies."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Mapping
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
from hybridal.app.web.auth import LoginLink, SessionCache, cookie_name, project_of, request_token, set_project_cookie
from hybridal.app.web.error_responses import error_response
from hybridal.app.web.paths import link, path_of
from hybridal.app.web.project_threads import in_thread
from hybridal.app.web.proxy import signed_in_as
from hybridal.errors import UserError
from hybridal.sentences import Sentence, translatable


class RateLimiter:
    """A token bucket for each key: `times` requests in `seconds`, refilled evenly.

    >>> limit = RateLimiter(2, 60.0, clock=lambda: 0.0)
    >>> limit.try_acquire("ada"), limit.try_acquire("ada"), limit.try_acquire("bob")
    (True, True, True)
    >>> limit.try_acquire("ada")
    False
    """

    def __init__(self, times: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.times = times
        self.rate = times / seconds
        self.clock = clock
        self._left: dict[Hashable, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def try_acquire(self, key: Hashable) -> bool:
        """Count one request; return False if the limit is exceeded."""
        with self._lock:
            time = self.clock()
            left, since = self._left.get(key, (float(self.times), time))
            left = min(self.times, left + (time - since) * self.rate)
            self._left[key] = (max(0.0, left - 1), time) if left >= 1 else (left, time)
            if len(self._left) > 10_000:
                self._forget(time)
            return left >= 1

    def acquire(self, key: Hashable) -> None:
        """Count one request; raise if the limit is exceeded."""
        if not self.try_acquire(key):
            raise TooOftenError(translatable("Too many requests; wait a moment and try again."))

    def _forget(self, time: float) -> None:
        """Drop the keys whose bucket is full again."""
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
    """Add security headers to every response, and forbid caching unless the response sets its own Cache-Control."""

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
LARGEST_BODY = 1_000_000  # bytes, without an uploaded file


class AccessMiddleware:
    """Authenticate every request before a route runs or a body is read, so that no route can forget to."""

    def __init__(
        self, app: ASGIApp, login_link: LoginLink | None, limit: RateLimiter, uploads: Mapping[str, int] | None = None
    ) -> None:
        self.app = app
        self.login_link = login_link
        self.limit = limit
        self.uploads = uploads or {}  # the largest file that a body may hold, by path

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
            if answer := await self._authorize(request):
                await answer(scope, receive, sending)
            else:
                largest_file = self.uploads.get(path_of(request), 0)
                await self.app(scope, limited_body(request, receive, largest_file), sending)
        except Exception as error:
            if started:
                raise
            await error_response(error, request)(scope, receive, sending)
        return None

    async def _authorize(self, request: Request) -> Response | None:
        """Raise if the request is refused, return a response to send instead of the app's, or None to continue."""
        path = path_of(request)
        if request.app.state.local and request.url.hostname not in HERE:
            raise UserError(
                translatable("This app accepts only requests to localhost; open the address that it printed.")
            )
        if path.startswith("/static/"):
            return None
        found = await self.find_user(request)
        request.state.user = found
        if path == "/" and self.login_link is not None and (token := request.query_params.get("token")):
            return await in_thread(self._use_login_link, request, self.login_link, token)
        self.limit.acquire(found.login if found else (request.client.host if request.client else ""))
        if path.startswith("/api/") and path not in PUBLIC:
            _check(request, found)
        return None

    def _use_login_link(self, request: Request, login_link: LoginLink, token: str) -> Response:
        """Sign in with the printed link, and redirect so that the token disappears from the address bar."""
        answer = RedirectResponse(link(request, "/"), 303)
        if login_link.redeem(token):
            self.start_session(request, answer)
        return answer

    async def find_user(self, request: Request) -> User | None:
        """The user who sent the request."""
        return await _find_user(request, cookie_name(project_of(request)))

    def start_session(self, request: Request, answer: Response) -> None:
        """Sign the browser in as the project's owner."""
        project = project_of(request)
        with project.sessions.begin() as session:
            set_project_cookie(answer, request, project, sign_in(session, project_owner(session)))


async def _find_user(request: Request, cookie_name: str) -> User | None:
    """Find the user by the API token of a request or, only if it has none, by its cookie.

    Behind a proxy that signs people in, the name that the proxy sends replaces the cookie.

    An invalid token never falls back to the cookie. Requests with a token are exempt from CSRF checks, because browsers
    send cookies by themselves but never tokens.
    """
    sessions: SessionCache = request.app.state.sessions
    if (secret := request_token(request)) is not None:
        key, find = f"token {secret}", partial(_find_by_token, project_of(request), secret)
    elif (name := signed_in_as(request)) is not None:
        operator: bool | None = getattr(request.state, "operator", None)
        key, find = f"proxy {name}", partial(_find_by_name, project_of(request), name, operator)
    elif cookie := request.cookies.get(cookie_name):
        key, find = f"cookie {cookie}", partial(_find_by_cookie, project_of(request), cookie)
    else:
        return None
    return sessions.get(key) or await in_thread(sessions.load, key, find)


def _find_by_cookie(project: Project, cookie: str) -> User | None:
    with project.reads() as session:
        return find_session(session, cookie)


_SECRET = draw_token()


def _find_by_name(project: Project, name: str, operator: bool | None) -> User | None:
    """Find or add the person whom a proxy signed in; their CSRF token is valid until this process ends.

    On a server with several projects, the `operator` acts as the owner of each; None: there is only one project.
    """
    if not name:
        return None
    name = checked_name(name)
    if operator is False and name == CREATOR:
        raise ForbiddenError(
            Sentence("The name '{name}' is reserved for the owner of a project; sign in under another name.", name=name)
        )
    with project.reads() as session:
        person = project_owner(session) if operator else find_newcomer(session, name)
    if person is None:
        with project.sessions.begin() as session:
            person = add_newcomer(session, name)
    return User(person, token_digest(f"{_SECRET} {name}"), f"proxy {person.number}", by_proxy=True)


def _find_by_token(project: Project, secret: str) -> User | None:
    with project.reads() as session:
        found = find_token(session, secret)
    if found is None:
        return None
    user, unnoted = found
    if unnoted:
        # Recording the time of use must not fail the request, for example on a full disk.
        with suppress(SQLAlchemyError), project.sessions.begin() as session:
            note_use(session, secret)
    return user


def _check(request: Request, found: User | None) -> None:
    if found is None:
        has_token = request_token(request) is not None
        raise SignInError(
            translatable("This token is not valid for this project.") if has_token else translatable("Sign in first.")
        )
    if found.token_role is not None:
        return
    sent = request.headers.get("x-csrf-token", "")
    if request.method not in ("GET", "HEAD") and not compare_digest(sent.encode(), found.csrf_token.encode()):
        raise ForbiddenError(translatable("This page is out of date; reload it."))


def limited_body(request: Request, receive: Receive, largest_file: int) -> Receive:
    """Refuse a body whose Content-Length is too large, and stop reading one that becomes too large."""
    largest, sentence = LARGEST_BODY, Sentence("The request is too large; the limit is {most} MB.", most=1)
    if largest_file:
        largest += largest_file
        sentence = Sentence("The file is too large; the limit is {most} MB.", most=largest_file // 1_000_000)
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
