"""Thread limits for each project, so that one project with a slow database does not delay the others.

Labelling has its own limit, so that the next text never waits for a long list.
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

Result = TypeVar("Result")
MAX_THREADS = 8  # per limiter; more would only compete for the database, each with its own connection
LABELLING = {"/api/next", "/api/annotations", "/api/undo"}

_threads: ContextVar[CapacityLimiter | None] = ContextVar("the limiter of the current project", default=None)


class ProjectThreads:
    """Set the thread limiter that `in_thread` uses for the requests of this app."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.labelling, self.others = CapacityLimiter(MAX_THREADS), CapacityLimiter(MAX_THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_labelling = scope["type"] == "http" and path_of(Request(scope)) in LABELLING
        _threads.set(self.labelling if is_labelling else self.others)
        await self.app(scope, receive, send)


async def in_thread(act: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
    """Run a blocking function in a thread of the current project."""
    return await run_sync(partial(act, *args, **kwargs), limiter=_threads.get())


async def parts_in_thread(parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Iterate over parts that a blocking iterator makes in a thread of the current project."""
    while (part := await in_thread(next, parts, None)) is not None:
        yield part


class _Route(APIRoute):
    def __init__(self, path: str, endpoint: Callable[..., Any], **named: Any) -> None:
        super().__init__(path, _threaded(endpoint), **named)


def _threaded(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    """Run a synchronous endpoint `in_thread`; FastAPI's own threads are shared by all apps of the process."""
    if inspect.iscoroutinefunction(endpoint):
        return endpoint

    @wraps(endpoint)
    async def threaded(**given: Any) -> Any:
        return await in_thread(endpoint, **given)

    threaded.__signature__ = inspect.signature(endpoint, eval_str=True)  # type: ignore[attr-defined]
    return threaded


Router = partial(APIRouter, route_class=_Route)
"""An `APIRouter` whose synchronous endpoints run in the project's threads."""
