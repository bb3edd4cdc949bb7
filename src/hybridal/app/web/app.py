"""The web app: all routes of one project, behind its doorman."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from fastapi import APIRouter, FastAPI, Request
from sqlalchemy import select

from hybridal import __version__
from hybridal.app.db.schema import Person
from hybridal.app.people import invitations
from hybridal.app.project import Project
from hybridal.app.web import routes
from hybridal.app.web.access import opened, visitor
from hybridal.app.web.doorman import Doorman
from hybridal.app.web.entry import Entry
from hybridal.app.web.guests import Guests
from hybridal.app.web.headers import StrictHeaders
from hybridal.app.web.limits import Limit
from hybridal.app.web.pages import pages
from hybridal.app.web.problems import ANSWERS, handle


def create_app(project: Project, entry: Entry | None = None, requests_a_minute: int = 600) -> FastAPI:
    """The app of a project. With an `entry` it is for its owner on this machine; without, everybody signs in."""
    app = FastAPI(
        title="hybridal", version=__version__, openapi_url=None, docs_url=None, redoc_url=None, responses=ANSWERS
    )
    app.state.project = project
    app.state.guests = Guests()
    app.state.local = entry is not None
    app.state.tries = Limit(10, 60.0)
    app.state.visits = Limit(60, 60.0)
    handle(app)
    for router in api():
        app.include_router(router)
    app.include_router(pages(visitor, _accounts, _check_invitation))
    app.add_middleware(Doorman, entry=entry, limit=Limit(requests_a_minute, 60.0))
    app.add_middleware(StrictHeaders)
    return app


def api() -> list[APIRouter]:
    """The routers of all modules in `routes`."""
    names = sorted(module.name for module in iter_modules(routes.__path__))
    return [import_module(f"{routes.__name__}.{name}").router for name in names]


def _check_invitation(request: Request, token: str) -> None:
    with opened(request).reads() as session:
        invitations.check(session, token)


def _accounts(request: Request) -> bool:
    """Whether anybody signs in with a password here."""
    with opened(request).reads() as session:
        return session.scalar(select(Person.number).where(Person.password.is_not(None)).limit(1)) is not None
