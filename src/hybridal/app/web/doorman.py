"""Stands before every route: looks at where a request was sent, who sends it, how often, and how much."""

from __future__ import annotations

from secrets import compare_digest

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybridal.app.errors import ForbiddenError, SignInError, TooLargeError
from hybridal.app.people import logins
from hybridal.app.people.logins import Visitor
from hybridal.app.web.access import opened
from hybridal.app.web.cookies import cookie_name, set_cookie
from hybridal.app.web.entry import Entry
from hybridal.app.web.guests import Guests
from hybridal.app.web.limits import Limit
from hybridal.app.web.problems import problem_of
from hybridal.errors import UserError

OPEN = {"/api/login", "/api/join"}
FILES = {"/api/texts", "/api/import/label-studio"}
HERE = {"localhost", "127.0.0.1", "::1", "[::1]"}
LARGEST, LARGEST_FILE = 1_000_000, 52_000_000


class Doorman:
    """Nothing under /api is reached, and no body read, before it is known who asks: a route cannot forget it."""

    def __init__(self, app: ASGIApp, entry: Entry | None, limit: Limit) -> None:
        self.app = app
        self.entry = entry
        self.limit = limit

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
                await self.app(scope, bounded(receive, _largest(request)), sending)
        except Exception as error:
            if started:
                raise
            await problem_of(error, request)(scope, receive, sending)
        return None

    async def _greet(self, request: Request) -> Response | None:
        """Refuses, answers in place of the app, or lets the request in with its visitor."""
        path = _path(request)
        if self.entry is not None and request.url.hostname not in HERE:
            raise UserError("This app answers to localhost alone; open the address that it printed.")
        if path.startswith("/static/"):
            return None
        project = opened(request)
        cookie = request.cookies.get(cookie_name(project))
        found = await _who(request, cookie) if cookie else None
        request.state.visitor = found
        if path == "/" and self.entry is not None and (token := request.query_params.get("token")):
            return await run_in_threadpool(_enter, request, self.entry, token)
        self.limit.insist(found.login if found else (request.client.host if request.client else ""))
        if path.startswith("/api/") and path not in OPEN:
            _check(request, found)
        return None


async def _who(request: Request, cookie: str) -> Visitor | None:
    guests: Guests = request.app.state.guests

    def ask(cookie: str) -> Visitor | None:
        with opened(request).reads() as session:
            return logins.find(session, cookie)

    return guests.recall(cookie) or await run_in_threadpool(guests.learn, cookie, ask)


def _enter(request: Request, entry: Entry, token: str) -> Response:
    """The link that was printed lets the owner in, once; then the token leaves the address bar."""
    project = opened(request)
    cookie = entry.redeem(project, token)
    answer = RedirectResponse("/", 303)
    if cookie is not None:
        set_cookie(answer, request, project, cookie)
    return answer


def _check(request: Request, found: Visitor | None) -> None:
    if found is None:
        raise SignInError("Sign in first.")
    sent = request.headers.get("x-csrf", "")
    if request.method not in ("GET", "HEAD") and not compare_digest(sent.encode(), found.csrf.encode()):
        raise ForbiddenError("The page is out of date; load it again.")


def _path(request: Request) -> str:
    """As the routes see it: that of `request.url` may be changed by a strange Host."""
    path: str = request.scope["path"]
    return path


def _largest(request: Request) -> int:
    largest = LARGEST_FILE if _path(request) in FILES else LARGEST
    length = request.headers.get("content-length", "0")
    if length.isdigit() and int(length) > largest:
        raise TooLargeError(_TOO_LARGE)
    return largest


def bounded(receive: Receive, largest: int) -> Receive:
    """Lets at most so many bytes through, whatever their sender announced."""
    read = 0

    async def counting() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > largest:
            raise HTTPException(413, _TOO_LARGE)
        return message

    return counting


_TOO_LARGE = "That is too large; a file may have 50 MB."
