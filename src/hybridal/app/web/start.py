"""The start page of a server with several projects, and under /p/NAME/ the app of each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import Field
from starlette.types import ASGIApp, Receive, Scope, Send

from hybridal.app.app_errors import SignInError
from hybridal.app.people import LONGEST_PASSWORD, project_owner, sign_in
from hybridal.app.project import Project
from hybridal.app.web import new_project, pages, project_list
from hybridal.app.web.auth import LoginLink, cookie_name, set_session_cookie, user_of
from hybridal.app.web.error_responses import add_handlers
from hybridal.app.web.held_files import HeldFiles
from hybridal.app.web.host import Host
from hybridal.app.web.middleware import RateLimiter, SecurityHeaders
from hybridal.app.web.operator import AsOperator, Operator, OperatorMiddleware
from hybridal.app.web.pages import render_page
from hybridal.app.web.project_list import PROJECTS, address_of, host_of
from hybridal.app.web.schemas import Done, Schema
from hybridal.app.web.translations import language_of, translation
from hybridal.app.web.uploads import LARGEST_ARCHIVE, LARGEST_FILE, upload_limits
from hybridal.sentences import translatable

router = APIRouter(include_in_schema=False)
_HASHING = CapacityLimiter(1)


def create_start_app(host: Host, operator: Operator, login_link: LoginLink | None) -> FastAPI:
    """The app of a server with several projects: the start page, and the app of each project under /p/NAME/."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with host.running():
            yield
        await run_sync(app.state.held.close)

    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.state.host, app.state.operator, app.state.local = host, operator, host.local
    app.state.tries, app.state.held = RateLimiter(10, 60.0), HeldFiles()
    add_handlers(app)
    app.include_router(router)
    app.include_router(project_list.router)
    app.include_router(new_project.router)
    uploads = {**upload_limits([new_project.router]), new_project.ARCHIVES: LARGEST_ARCHIVE}
    app.add_middleware(OperatorMiddleware, login_link=login_link, limit=RateLimiter(600, 60.0), uploads=uploads)
    app.add_middleware(SecurityHeaders)
    app.add_middleware(ProjectPaths, host=host, operator=operator)
    return app


class ProjectPaths:
    """Forward requests below /p/NAME/ to the app of that project, which has its own middleware."""

    def __init__(self, app: ASGIApp, host: Host, operator: Operator) -> None:
        self.app, self.host, self.operator = app, host, operator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name, slash, _ = scope.get("path", "").removeprefix(PROJECTS).partition("/")
        found = self.host.projects.get(name) if slash and scope["path"].startswith(PROJECTS) else None
        app = await found.find_app() if found else None
        if app is None:
            return await self.app(scope, receive, send)
        is_operator = self.operator.find(Request(scope)) is not None
        inside = {**scope, "root_path": PROJECTS + name, "state": {**scope.get("state", {}), "operator": is_operator}}
        return await app(inside, receive, send)


router.get("/static/{version}/{name:path}")(pages.static)


@router.get("/")
async def start(request: Request) -> Response:
    """The list of projects; only for the operator."""
    if user_of(request) is None:
        return RedirectResponse("/login", 303)
    host = host_of(request)
    facts: dict[str, Any] = {"largest_file": LARGEST_FILE, "encoders": new_project.encoders(host), "local": host.local}
    facts |= {"can_invite": new_project.can_invite(request), "largest_archive": LARGEST_ARCHIVE}
    return render_page(request, "start", page="start", title=translatable("Projects"), user=user_of(request), **facts)


@router.get("/login")
async def login_page(request: Request) -> Response:
    """The sign-in page of the operator, with a form if there is a password."""
    operator: Operator = request.app.state.operator
    accounts, place = operator.password is not None, "server" if operator.named is None else "operator"
    return render_page(request, "login", page="sign-in", title=translatable("Sign in"), accounts=accounts, place=place)


@router.get("/p/{name}")
async def without_slash(name: str, request: Request) -> Response:
    """Redirect an address that was typed without its slash."""
    host_of(request).find(name)
    return RedirectResponse(f"{address_of(name)}/", 303)


@router.api_route("/p/{name}/{path:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
async def not_served(name: str, path: str, request: Request) -> Response:
    """The answer for a project that is archived or cannot be opened; the start page shows the operator why.

    Pages that were open before get it as JSON, and keep their labels until the project is open again.
    """
    host = host_of(request)
    host.find(name)
    archived = translatable("This project is archived. Your labels are safe. Ask the person who runs the server.")
    broken = translatable(
        "This project cannot be opened at the moment. Your labels are safe. Ask the person who runs the server."
    )
    sentence = translation(language_of(request)).gettext(archived if name in host.archived else broken)
    if path.startswith(("api/", "ml/")):
        return JSONResponse({"error": sentence}, 503)
    return pages.error_page(request, 503, sentence)


class Password(Schema):
    """The operator's password."""

    password: str = Field(max_length=LONGEST_PASSWORD)


@router.post("/api/login")
async def login(given: Password, request: Request, response: Response) -> Done:
    """Sign this browser in as the operator."""
    request.app.state.tries.acquire(request.client.host if request.client else "")
    operator: Operator = request.app.state.operator
    if not await run_sync(operator.verify_password, given.password, limiter=_HASHING):
        raise SignInError(translatable("The password is wrong."))
    operator.start_session(request, response)
    return Done()


@router.post("/api/logout")
async def logout(user: AsOperator, request: Request, response: Response) -> Done:
    """Sign this browser out of the start page; it stays signed in to the projects that it has opened."""
    request.app.state.operator.sign_out(user)
    response.delete_cookie(request.app.state.operator.cookie)
    return Done()


@router.get("/open/{name}")
async def open_project(name: str, request: Request) -> Response:
    """Sign the operator in to a project as its owner."""
    found = host_of(request).projects.get(name)
    app = await found.find_app() if found else None
    if user_of(request) is None or app is None:
        return RedirectResponse("/", 303)
    root, project = address_of(name), app.state.project
    answer = RedirectResponse(f"{root}/", 303)
    token = await run_sync(_sign_in_owner, project)
    set_session_cookie(answer, request, cookie_name(project), token, f"{root}/")
    return answer


def _sign_in_owner(project: Project) -> str:
    with project.sessions.begin() as session:
        return sign_in(session, project_owner(session))
