"""The HTML pages, which the scripts fill with data, and the static files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse
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
from hybridal.app.web.translations import LANGUAGES, SOURCE, catalogue_path, language_of, translation
from hybridal.app.web.uploads import LARGEST_FILE
from hybridal.app.webhooks.events import EVENTS
from hybridal.core.rules import PRESETS
from hybridal.sentences import translatable

_FILES = Path(__file__).parent / "static"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class Page:
    """A page with its path, and the lowest role that may open it; personal pages are listed next to the user's name."""

    path: str
    name: str
    title: str
    min_role: str = "annotator"
    is_personal: bool = False

    def allows(self, role: str) -> bool:
        """Whether a person with this role may open the page.

        >>> Page("/people", "people", "People", "owner").allows("reviewer")
        False
        """
        return may(role, self.min_role)


PAGES = (
    Page("/", "label", translatable("Label")),
    Page("/texts", "texts", translatable("Texts")),
    Page("/progress", "progress", translatable("Progress")),
    Page("/review", "review", translatable("Review"), "reviewer"),
    Page("/results", "results", translatable("Results"), "reviewer"),
    Page("/export", "export", translatable("Export"), "reviewer"),
    Page("/people", "people", translatable("People"), "owner"),
    Page("/settings", "settings", translatable("Settings"), "owner"),
    Page("/comments", "comments", translatable("Comments"), is_personal=True),
    Page("/programs", "programs", translatable("Programs"), is_personal=True),
)


router = Router(include_in_schema=False)


CODEBOOK = Page(
    "/codebook", "codebook", translatable("Codebook"), "reviewer"
)  # linked from the pages Settings and Review
LOG = Page("/log", "log", translatable("Audit log"), "owner")  # linked from the pages Codebook and People
REFERENCE = Page("/programs/api", "reference", translatable("API"))  # linked from the page Programs


def _frame(page: Page) -> Callable[[Request], Response]:
    def show(request: Request) -> Response:
        user = user_of(request)
        if user is None:
            return RedirectResponse(link(request, "/login"), 303)
        shown = [entry for entry in PAGES if entry.allows(user.role)]
        facts: dict[str, Any] = {"title": page.title, "page": page.name, "menu": shown, "user": user}
        facts["operator"] = getattr(request.state, "operator", False)
        settings = project_of(request).settings()
        facts["owner"] = f"{settings['key']}/{user.person.number}"
        facts |= {"guidelines": settings["guidelines"], "columns": settings["columns"], "protocols": [*PRESETS]}
        facts["multi_label"] = settings["multi_label"]
        facts |= {"events": EVENTS, "largest_file": LARGEST_FILE}
        facts["predictions"] = sees_predictions(user, settings)
        if page is REFERENCE:
            address = str(request.base_url).rstrip("/")
            facts["chapters"] = chapters(request.app.openapi(), address, settings["multi_label"])
        if not page.allows(user.role):
            return render_page(request, "forbidden", 403, min_role=page.min_role, **facts)
        return render_page(request, page.name, **facts)

    return show


for _page in (*PAGES, CODEBOOK, LOG, REFERENCE):
    router.get(_page.path)(_frame(_page))


@router.get("/login")
def login(request: Request) -> Response:
    """The sign-in page, with a form if any person has a password."""
    with project_of(request).reads() as session:
        accounts = session.scalar(select(Person.number).where(Person.password.is_not(None)).limit(1)) is not None
    return render_page(
        request, "login", page="sign-in", title=translatable("Sign in"), accounts=accounts, place=_place(request)
    )


def _place(request: Request) -> str:
    """How people reach this project: it is `alone` on its server, `shared` with other projects, or behind a `proxy`."""
    if signed_in_as(request) is not None:
        return "proxy"
    return "shared" if link(request, "") else "alone"


@router.get("/join/{token}")
def join(request: Request, token: str) -> Response:
    """The page of an invitation; raises if the link is invalid."""
    with project_of(request).reads() as session:
        check_invitation(session, token)
    return render_page(request, "join", page="sign-in", title=translatable("Join"), token=token)


@router.get("/static/{version}/{name:path}")
def static(version: str, name: str) -> Response:
    """A static file. The version in the URL changes with any file, so browsers may cache it for ever."""
    known = _static_files()
    if version != static_version():
        return PlainTextResponse("File not found.", 404)
    if name in known:
        return FileResponse(known[name], media_type=_TYPES[known[name].suffix], headers=_FOR_EVER)
    if name in _messages():
        return JSONResponse(translation(_messages()[name]).as_json(), headers=_FOR_EVER)
    return PlainTextResponse("File not found.", 404)


@router.get("/service-worker.js")
def service_worker() -> Response:
    """The script that opens the page Label without a connection, at the path whose pages it may serve."""
    path = _static_files()["js/service-worker.js"]
    return FileResponse(path, media_type=_TYPES[".js"], headers={"Cache-Control": "no-cache"})


_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}


def _messages() -> dict[str, str]:
    """The language of each file of texts that scripts read."""
    return {f"messages/{language}.json": language for language in LANGUAGES}


def error_page(request: Request, status: int, sentence: str) -> Response:
    """An error as a page."""
    title = _ERROR_TITLES.get(status, translatable("Something went wrong"))
    return render_page(request, "not_found", status, page="sign-in", title=title, message=sentence)


_ERROR_TITLES = {
    403: translatable("No access"),
    404: translatable("Page not found"),
    429: translatable("Too many requests"),
    503: translatable("Not available now"),
}


@cache
def static_version() -> str:
    """A hash of all static files and translations.

    >>> static_version() == static_version(), len(static_version())
    (True, 12)
    """
    digest = hashlib.sha256()
    for name, path in _static_files().items():
        digest.update(name.encode() + path.read_bytes())
    for language in LANGUAGES:
        if language != SOURCE:
            digest.update(language.encode() + catalogue_path(language).read_bytes())
    return digest.hexdigest()[:12]


@cache
def _static_files() -> dict[str, Path]:
    # Requested names are looked up here and never joined to a path, so they cannot leave the folder.
    files = (path for path in sorted(_FILES.rglob("*")) if path.suffix in _TYPES)
    return {path.relative_to(_FILES).as_posix(): path for path in files}


@cache
def _templates(language: str) -> Environment:
    loader = PackageLoader("hybridal.app.web", "templates")
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    made.policies["ext.i18n.trimmed"] = True
    texts = translation(language)
    made.install_gettext_callables(texts.gettext, texts.ngettext, newstyle=True)  # type: ignore[attr-defined]
    made.filters["markdown"] = render
    made.globals |= {"language": language, "direction": texts.direction, "languages": LANGUAGES}
    return made


def render_page(request: Request, template: str, status: int = 200, **facts: Any) -> HTMLResponse:
    """Render a template in the visitor's language, with links below this app's root path."""
    root, language = link(request, ""), language_of(request)
    static_root = f"{root}/static/{static_version()}"
    html = _templates(language).get_template(f"{template}.html").render(root=root, static=static_root, **facts)
    headers = {"Cache-Control": "no-store", "Content-Language": language, "Vary": "Accept-Language, Cookie"}
    return HTMLResponse(html, status, headers=headers)
