"""The pages: frames that the scripts fill, and the files that they need."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from sqlalchemy import select

from hybridal.app.db.schema import Person
from hybridal.app.people import check_invitation, may
from hybridal.app.web.auth import project_of, sees_predictions, user_of
from hybridal.app.web.markdown import render
from hybridal.app.web.paths import link
from hybridal.app.web.project_threads import Router
from hybridal.app.web.proxy import signed_in_as
from hybridal.app.web.reference import chapters
from hybridal.app.web.uploads import LARGEST_FILE
from hybridal.app.webhooks.events import EVENTS
from hybridal.core.rules import PRESETS

_FILES = Path(__file__).parent / "static"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class Page:
    """One page of the menu, and the least role that may open it; one `aside` stands with the person's own things."""

    path: str
    name: str
    title: str
    least: str = "annotator"
    aside: bool = False

    def opens_to(self, role: str) -> bool:
        """Whether somebody of this role may open it.

        >>> Page("/people", "people", "People", "owner").opens_to("reviewer")
        False
        """
        return may(role, self.least)


PAGES = (
    Page("/", "label", "Label"),
    Page("/texts", "texts", "Texts"),
    Page("/progress", "progress", "Progress"),
    Page("/review", "review", "Review", "reviewer"),
    Page("/export", "export", "Export", "reviewer"),
    Page("/people", "people", "People", "owner"),
    Page("/settings", "settings", "Settings", "owner"),
    Page("/programs", "programs", "Programs", aside=True),
)


router = Router(include_in_schema=False)


REFERENCE = Page("/programs/api", "reference", "API")  # the page Programs leads to it


def _frame(page: Page) -> Callable[[Request], Response]:
    def show(request: Request) -> Response:
        user = user_of(request)
        if user is None:
            return RedirectResponse(link(request, "/login"), 303)
        shown = [entry for entry in PAGES if entry.opens_to(user.role)]
        facts: dict[str, Any] = {"title": page.title, "page": page.name, "menu": shown, "user": user}
        facts["operator"] = getattr(request.state, "operator", False)
        decided = project_of(request).settings()
        facts |= {"guidelines": decided["guidelines"], "columns": decided["columns"], "protocols": [*PRESETS]}
        facts |= {"events": EVENTS, "largest_file": LARGEST_FILE}
        facts["predictions"] = sees_predictions(user, decided)
        if page is REFERENCE:
            facts["chapters"] = chapters(request.app.openapi(), str(request.base_url).rstrip("/"))
        if not page.opens_to(user.role):
            return render_page(request, "closed", 403, least=page.least, **facts)
        return render_page(request, page.name, **facts)

    return show


for _page in (*PAGES, REFERENCE):
    router.get(_page.path)(_frame(_page))


@router.get("/login")
def login(request: Request) -> Response:
    """Asks for a password only where anybody has one."""
    with project_of(request).reads() as session:
        accounts = session.scalar(select(Person.number).where(Person.password.is_not(None)).limit(1)) is not None
    return render_page(request, "login", page="sign-in", title="Sign in", accounts=accounts, place=_place(request))


def _place(request: Request) -> str:
    """What somebody signs in to: a project that has its server for itself, shares it, or is behind a proxy."""
    if signed_in_as(request) is not None:
        return "proxy"
    return "shared" if link(request, "") else "alone"


@router.get("/join/{token}")
def join(request: Request, token: str) -> Response:
    """Refuses a link that lets nobody in."""
    with project_of(request).reads() as session:
        check_invitation(session, token)
    return render_page(request, "join", page="sign-in", title="Join", token=token)


@router.get("/static/{version}/{name:path}")
def static(version: str, name: str) -> Response:
    """The version changes with any file, so what was fetched once is right for ever."""
    known = _static_files()
    if version != static_version() or name not in known:
        return PlainTextResponse("File not found.", 404)
    for_ever = {"Cache-Control": "public, max-age=31536000, immutable"}
    return FileResponse(known[name], media_type=_TYPES[known[name].suffix], headers=for_ever)


def error_page(request: Request, status: int, sentence: str) -> Response:
    """The page for a person whose address leads nowhere, or not now."""
    title = _ERROR_TITLES.get(status, "Something went wrong")
    return render_page(request, "missing", status, page="sign-in", title=title, message=sentence)


_ERROR_TITLES = {403: "No access", 404: "Page not found", 429: "Too many requests", 503: "Not available now"}


@cache
def static_version() -> str:
    """A name for the static files as they are now: other files, other name.

    >>> static_version() == static_version(), len(static_version())
    (True, 12)
    """
    digest = hashlib.sha256()
    for name, path in _static_files().items():
        digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


@cache
def _static_files() -> dict[str, Path]:
    # Looked up here and never joined to a path, a name that a user sends cannot leave the folder.
    files = (path for path in sorted(_FILES.rglob("*")) if path.suffix in _TYPES)
    return {path.relative_to(_FILES).as_posix(): path for path in files}


@cache
def _templates() -> Environment:
    loader = PackageLoader("hybridal.app.web", "templates")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters["markdown"] = render
    return made


def render_page(request: Request, template: str, status: int = 200, **facts: Any) -> HTMLResponse:
    """A page whose links lead to where this app is."""
    root = link(request, "")
    html = (
        _templates()
        .get_template(f"{template}.html")
        .render(root=root, static=f"{root}/static/{static_version()}", **facts)
    )
    return HTMLResponse(html, status, headers={"Cache-Control": "no-store"})
