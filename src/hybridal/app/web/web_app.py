"""The web app: all routes of one project, behind its middleware."""

from __future__ import annotations

from functools import cache, partial
from importlib import import_module
from pkgutil import iter_modules

from fastapi import APIRouter, FastAPI

from hybridal import __version__
from hybridal.app.project import Project
from hybridal.app.web import pages, routes
from hybridal.app.web.auth import LoginLink, SessionCache
from hybridal.app.web.error_responses import ERROR_RESPONSES, add_handlers
from hybridal.app.web.held_files import HeldFiles
from hybridal.app.web.middleware import AccessMiddleware, RateLimiter, SecurityHeaders
from hybridal.app.web.openapi import write_document
from hybridal.app.web.project_threads import ProjectThreads
from hybridal.app.web.uploads import upload_limits


def create_app(project: Project, login_link: LoginLink | None = None, requests_a_minute: int = 600) -> FastAPI:
    """The app of a project. With a `login_link`, only the owner on this machine can use it; without, people sign in."""
    app = _without_routes()
    shared = _shared_router()
    app.router.routes.extend(shared.routes)
    app.router.lifespan_context = shared.lifespan_context
    app.state.project = project
    app.state.sessions = SessionCache()
    app.state.held = HeldFiles()
    app.state.local = login_link is not None
    app.state.tries = RateLimiter(10, 60.0)
    app.state.visits = RateLimiter(60, 60.0)
    add_handlers(app)
    routers = api()
    app.openapi = cache(partial(write_document, app, routers))  # type: ignore[method-assign]
    app.add_middleware(
        AccessMiddleware,
        login_link=login_link,
        limit=RateLimiter(requests_a_minute, 60.0),
        uploads=upload_limits(routers.values()),
    )
    app.add_middleware(SecurityHeaders)
    app.add_middleware(ProjectThreads)
    return app


def _without_routes() -> FastAPI:
    return FastAPI(
        title="hybridal",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        responses=ERROR_RESPONSES,
        generate_unique_id_function=lambda route: route.name,
    )


@cache
def _shared_router() -> APIRouter:
    """The routes of all apps. FastAPI builds the models of included routes at the first request: 0.2 s of CPU time."""
    app = _without_routes()
    for name, router in api().items():
        app.include_router(router, tags=[name])
    app.include_router(pages.router)
    return app.router


def api() -> dict[str, APIRouter]:
    """Return the router of each module in `routes` by its title in the OpenAPI document."""
    nouns = sorted(module.name.removesuffix("_routes") for module in iter_modules(routes.__path__))
    return {
        _TITLES.get(noun, noun.capitalize()): import_module(f"{routes.__name__}.{noun}_routes").router for noun in nouns
    }


_TITLES = {"label_studio": "Label Studio", "llm": "Language model", "openapi": "This document"}
