"""Each project has threads of its own to answer in: where all of one's wait for its database, no other waits too.

Those for labelling are apart, so that nobody's next text waits for somebody's list.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from hybridal.app.web.paths import path_of

Found = TypeVar("Found")
AT_ONCE = 8  # of each kind: more would only wait for each other, each with a connection to warm up
LABELLING = {"/api/next", "/api/annotations", "/api/undo"}

_threads: ContextVar[CapacityLimiter | None] = ContextVar("the threads of the project that is asked", default=None)


class ProjectThreads:
    """Whatever the app inside does `in_thread`, it does in its own."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.labelling, self.others = CapacityLimiter(AT_ONCE), CapacityLimiter(AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        labels = scope["type"] == "http" and path_of(Request(scope)) in LABELLING
        _threads.set(self.labelling if labels else self.others)
        await self.app(scope, receive, send)


async def in_thread(act: Callable[..., Found], *given: Any, **named: Any) -> Found:
    """Does what may wait in a thread of the project that is asked."""
    return await run_sync(partial(act, *given, **named), limiter=_threads.get())


async def parts_in_thread(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The parts of something, each made in such a thread when it is asked for."""
    while (part := await in_thread(next, parts, None)) is not None:
        yield part


class _Route(APIRoute):
    def __init__(self, path: str, endpoint: Callable[..., Any], **named: Any) -> None:
        super().__init__(path, _threaded(endpoint), **named)


def _threaded(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """FastAPI itself would take one of the threads that all apps of a process share."""
    if inspect.iscoroutinefunction(endpoint):
        return endpoint

    @wraps(endpoint)
    async def threaded(**given: Any) -> Any:
        return await in_thread(endpoint, **given)

    threaded.__signature__ = inspect.signature(endpoint, eval_str=True)  # type: ignore[attr-defined]
    return threaded


Router = partial(APIRouter, route_class=_Route)
"""A router of a project's app."""
